"""Machines of the control plane that stand still are started again before the engine looks: the engine knows whether a
machine exists, not whether it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.registry import cloud_of
from components.model import control_machines, plan
from components.model.places import place_of
from longhaul.say import say
from longhaul.status.observed import STILL

if TYPE_CHECKING:
    from components.model import Environment


def revive(environment: Environment) -> None:
    """Start every machine of the control plane that is switched off, all at once: a store that has lost its quorum gets
    it back so. A machine that comes up without its disk joins its store anew, as a replaced one does. What cannot be
    started is said, and left to the engine and its guards."""
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
        say(f"which machines run cannot be seen: {error}")
        return
    if still:
        say(f"{', '.join(still)} {'is' if len(still) == 1 else 'are'} switched off: started again")
        with ThreadPoolExecutor(max_workers=len(still)) as pool:
            list(pool.map(start, still))
