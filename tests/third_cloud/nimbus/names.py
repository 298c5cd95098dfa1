"""Names of an environment's resources in Nimbus, and the lengths that Nimbus allows."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.names import NODE, Main, Sized
from clouds.base.place import Place
from nimbus import groups
from nimbus.site import NimbusSite

FLOCK, FABRIC, TUNNEL = 22, 40, 60


def fabric(place: Place[NimbusSite]) -> str:
    """Return the name of the fabric that is made for a site."""
    return place.cloud_name(f"{place.environment}-{place.name}-fabric")


def main(place: Place[NimbusSite], /) -> Iterator[Main]:
    """Yield the site's fabric."""
    there = place.site.existing.fabric
    yield Main(what="fabric", name=there or fabric(place), existing=there is not None)


def of_site(place: Place[NimbusSite], /) -> Iterator[Sized]:
    """Yield the fabric's name with its maximum length."""
    yield Sized(what="a fabric", name=fabric(place), most=FABRIC)


def of_pool(place: Place[NimbusSite], pool: str, /) -> Iterator[Sized]:
    """Yield the names of flocks and of the nodes in them."""
    for group in groups.of_pool(place, pool):
        yield Sized(what="a flock", name=group.name, most=FLOCK)
        yield Sized(what="a node", name=f"{group.name}-{groups.LARGEST}", most=NODE)


def of_link(place: Place[NimbusSite], link: str, end: str, /) -> Iterator[Sized]:
    """Yield the name of the tunnel to an end of another site."""
    yield Sized(what="a tunnel", name=place.cloud_name(f"{place.environment}-links-{link}-{end}"), most=TUNNEL)
