"""All groups of one pool, rolled together."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from clouds.base.live_groups import GroupState, LiveMachine, Rolled
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

AT_ONCE = 8
"""Number of groups that are asked at the same time."""


def pool_machines(environment: Environment, pool_name: str) -> Rolled:
    """Return the machines of a pool. Raise ``CommandError`` when there is no such pool, or it is not in a cloud."""
    from clouds.registry import cloud_of
    from components.model.nodes.host_nodes import HOSTS
    from components.model.sites.places import place_of

    pool = environment.pools.get(pool_name)
    if pool is None:
        hosts = (HOSTS,) if environment.hosts else ()
        known = ", ".join((*environment.pools, *hosts)) or "none"
        raise CommandError(f"{environment.name} has no pool {pool_name!r} (pools: {known})", code=Exit.USAGE)
    place = place_of(environment, pool.site)
    groups = cloud_of(place.site).live_groups(place, pool_name)
    if not groups:
        raise CommandError(f"pool {pool_name} is on {place.site.kind}, not in a cloud", code=Exit.USAGE)
    return JoinedGroups(groups) if len(groups) > 1 else next(iter(groups.values()))


class JoinedGroups:
    """A pool of several groups of one kind, rolled together: the limit of machines at a time applies to their sum."""

    def __init__(self, groups: Mapping[str, Rolled]) -> None:
        self._groups = groups
        self.in_place = all(group.in_place for group in groups.values())
        self.looks_apart_s = max(group.looks_apart_s for group in groups.values())

    def look(self) -> GroupState:
        """Look at all groups. Machine ids get their group as a prefix, since each group numbers its own machines."""
        with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
            states = dict(
                zip(self._groups, threads.map(lambda group: group.look(), self._groups.values()), strict=True)
            )
        targets = sorted({group.target for group in states.values()})
        return GroupState(
            target=targets[0] if len(targets) == 1 else f"{targets[0]} and {len(targets) - 1} others",
            wanted=sum(group.wanted for group in states.values()),
            machines=tuple(
                replace(machine, id=f"{name}/{machine.id}")
                for name, group in states.items()
                for machine in group.machines
            ),
        )

    def replace(self, machine: LiveMachine) -> None:
        """Replace the machine in its group."""
        group, member = self._group_and_machine(machine)
        group.replace(member)

    def rebuild(self, machine: LiveMachine) -> None:
        """Run the second step in the machine's group."""
        group, member = self._group_and_machine(machine)
        group.rebuild(member)

    def remake(self, machine: LiveMachine) -> None:
        """Replace a machine without a Node in its group."""
        group, member = self._group_and_machine(machine)
        group.remake(member)

    def _group_and_machine(self, machine: LiveMachine) -> tuple[Rolled, LiveMachine]:
        name, _, id_ = machine.id.partition("/")
        return self._groups[name], replace(machine, id=id_)
