"""Machines of the control plane that stand still are started again before the engine looks: the engine knows whether a
machine exists, not whether it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clouds.azure.names import resource_group
from clouds.azure.site import AzureSite
from components.model import control_machines, plan
from components.model.places import name_prefix, place_of
from longhaul.say import say
from longhaul.status.observed import STILL

if TYPE_CHECKING:
    from components.model import Environment


def revive(environment: Environment) -> None:
    """Start every machine of the control plane that is switched off, all at once: a store that has lost its quorum gets
    it back so. A machine that comes up without its disk joins its store anew, as a replaced one does. What cannot be
    started is said, and left to the engine and its guards."""
    from clouds.azure.api import AzureApi
    from clouds.azure.session import AzureError

    name = environment.control_plane.site
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        return
    api = AzureApi(subscription=site.subscription, prefix=name_prefix(environment))
    group = resource_group(place_of(environment, name))

    def start(machine: str) -> None:
        try:
            api.start(group, machine)
        except AzureError as error:
            say(f"{machine} cannot be started: {error}")

    try:
        mine = {machine.name for machine in control_machines(environment, plan(environment))}
        still = sorted(view.name for view in api.machines(group) if view.name in mine and view.power in STILL)
    except AzureError as error:
        say(f"which machines run cannot be seen: {error}")
        return
    if still:
        say(f"{', '.join(still)} {'is' if len(still) == 1 else 'are'} switched off: started again")
        with ThreadPoolExecutor(max_workers=len(still)) as pool:
            list(pool.map(start, still))
