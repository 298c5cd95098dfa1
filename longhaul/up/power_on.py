"""Starts control-plane machines that are switched off, before the engine runs: the engine knows whether a machine
exists, not whether it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.registry import cloud_of
from components.model import control_machines, plan
from components.model.sites.places import place_of
from longhaul.control_plane.node_answers import STILL
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment


def power_on(environment: Environment) -> None:
    """Start every control-plane machine that is switched off, all at once, so that an etcd cluster without quorum
    regains it. A machine that starts without its disk joins its etcd cluster as a new member, as a replacement does. A
    machine that cannot be started is reported and left to the engine and its guards."""
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        return

    def start(machine: str) -> None:
        try:
            control.start(place, machine)
        except CloudError as error:
            say(f"{machine} cannot be started: {error}")

    try:
        mine = {machine.name for machine in control_machines(environment, plan(environment))}
        still = sorted(view.name for view in control.machines(place) if view.name in mine and view.power in STILL)
    except CloudError as error:
        say(f"the machines' power states cannot be read ({error}); those that are switched off are not started")
        return
    if still:
        say(f"{', '.join(still)} {'is' if len(still) == 1 else 'are'} switched off: started again")
        with ThreadPoolExecutor(max_workers=len(still)) as pool:
            list(pool.map(start, still))
