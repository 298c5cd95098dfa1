"""Parts of a site that are made in Nimbus, and parts that exist already."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.place import Place
from clouds.base.prices import Part
from nimbus.site import NimbusSite


def makes_vpn_gateway(site: NimbusSite, /) -> bool:
    """Return whether the site gets a gateway of its own: an existing fabric has one."""
    return site.existing.fabric is None


def hourly_parts(place: Place[NimbusSite], remote: int, /) -> Iterator[tuple[Part, int]]:
    """Yield the gateway with its address; tunnels are free, however many there are."""
    if place.has_tunnels and remote and makes_vpn_gateway(place.site):
        yield "vpn-gateway", 1
        yield "public-address", 1


def existing_parts(site: NimbusSite, /) -> tuple[str, ...]:
    """Return the parts that the site has already, in words."""
    return ("fabric",) if site.existing.fabric else ()
