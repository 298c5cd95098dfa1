"""Questions to the clouds themselves: public addresses of an environment, and resources that are left of it."""

from __future__ import annotations

from clouds.registry import cloud_of
from components.model import Environment
from components.model.sites.places import place_of
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.target import AcceptanceTarget


def nothing_public(target: AcceptanceTarget) -> str:
    """Check that every public address belongs to a gateway, and that no instance has one."""
    places = [place_of(target.environment, name) for name in target.environment.sites]
    # Sites of one region list the same addresses; each address is counted once.
    addresses = {
        public_address.address: public_address
        for place in places
        for public_address in cloud_of(place.site).listing.public_addresses(place)
    }
    if not addresses:
        raise NotApplicableError("no cloud lists a public address of the environment")
    if wrong := [f"{ip.address} is held by {ip.holder}" for ip in addresses.values() if not ip.allowed]:
        raise NotSoError("; ".join(wrong))
    return ", ".join(f"{ip.address}: {ip.holder}" for ip in addresses.values())


def remaining_resources(environment: Environment) -> list[str]:
    """Return the resources that the clouds still list of an environment."""
    places = [place_of(environment, name) for name in environment.sites]
    return list(
        dict.fromkeys(resource for place in places for resource in cloud_of(place.site).listing.remaining(place))
    )
