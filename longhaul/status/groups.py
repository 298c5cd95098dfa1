"""Asks the clouds for the groups of all pools, and for facts about machines that are not nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.live_groups import MOST_AGES, GroupState, LiveGroup, LiveMachine, unjoined
from clouds.registry import cloud_of
from components.model.sites.places import place_of
from longhaul.status.observed import ClusterView, ReportedGroups

if TYPE_CHECKING:
    from components.model import Environment


def ask_pool(environment: Environment, name: str, cluster: Callable[[], ClusterView]) -> ReportedGroups:
    """Return a pool's groups, or the reason in ``error``. ``cluster`` returns the nodes, and waits until they are
    known."""
    place = place_of(environment, environment.pools[name].site)
    try:
        live = list(cloud_of(place.site).live_groups(place, name).values())
        looks = [(group, group.look()) for group in live]
        return _together(looks, nodes={view.name for view in cluster().nodes})
    except CloudError as error:
        return ReportedGroups(error=str(error))


def _together(looks: Iterable[tuple[LiveGroup, GroupState]], *, nodes: set[str]) -> ReportedGroups:
    machines: list[LiveMachine] = []
    made: dict[str, str] = {}
    consoles: dict[str, str] = {}
    wanted = 0
    for group, look in looks:
        machines += look.machines
        wanted += look.wanted
        joining = unjoined(look.machines, nodes)[:MOST_AGES]
        if joining:
            ages = group.made_at(joining)
            made |= {machine.node: ages[machine.id] for machine in joining if machine.id in ages}
            consoles |= {machine.node: group.console(machine) for machine in joining}
    return ReportedGroups(machines=tuple(machines), wanted=wanted, made=made, consoles=consoles)
