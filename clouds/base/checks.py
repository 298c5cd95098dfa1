"""Checks of a site, its pools and its existing resources. They need only the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic

from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from clouds.base.place import Place, SiteT
from clouds.base.pool_section import Pool, Reservation


class SiteChecks(Generic[SiteT]):
    """Checks of sites in a cloud. Nothing is wrong by default."""

    def faults(self, place: Place[SiteT], earlier: Sequence[Place[SiteT]]) -> Iterator[Fault]:
        """Yield every fault of a site's pools and of the existing parts that the site names. The cloud is not asked.
        ``earlier`` holds the cloud's sites that come before this one in the file, for faults between two sites."""
        yield from ()

    def network(self, site: SiteT) -> tuple[str, str] | None:
        """Return the key below ``existing`` and the id of the network that the site names; None when it names none."""
        return None


def zones_of(place: Place[Any], pool: Pool) -> tuple[str, ...]:
    """Return the zones of a pool's machines, in the order in which the site lists them."""
    zones: tuple[str, ...] = place.site.zones
    return tuple(zone for zone in zones if zone in pool.zones) if pool.zones else zones


def zones_basis(place: Place[Any]) -> tuple[Location, ...]:
    """Return the locations of a site's zones in the file."""
    at: Location = ("sites", place.name, "zones")
    return (at, *((*at, index) for index in range(len(place.site.zones))))


def reversed_dates(name: str, reservation: Reservation) -> Iterator[Fault]:
    """Yield a fault if the reservation of the pool ``name`` ends before it begins."""
    at: Location = ("pools", name, "reservation")
    if reservation.begins and reservation.ends and reservation.ends < reservation.begins:
        wrong = f"{reservation.ends} is before it begins, on {reservation.begins}"
        yield Fault(at=(*at, "ends"), wrong=wrong, write="the last day", basis=((*at, "begins"),))


def unknown_zones(place: Place[Any]) -> Iterator[Fault]:
    """Yield a fault for each zone that a pool names twice, or that its site lacks."""
    for name, pool in place.pools.items():
        for index, zone in enumerate(pool.zones):
            at, zones = ("pools", name, "zones", index), place.site.zones
            basis: tuple[Location, ...] = (("pools", name, "site"), *zones_basis(place))
            if zone not in zones:
                wrong, write = f"{zone!r} is not a zone of {place.name}", suggestion(zones, zone)
                yield Fault(at=at, wrong=wrong, write=write, basis=basis)
            elif zone in pool.zones[:index]:
                yield Fault(at=at, wrong=f"{zone!r} is named twice", write="each zone once", basis=basis)
