"""Checks of pools that several clouds share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.base.fault import Fault, Location
from clouds.base.place import Place
from clouds.base.pool import Pool
from clouds.base.words import choices


def zones_of(place: Place[Any], pool: Pool) -> tuple[str, ...]:
    """Return the zones that a pool's machines are in, in the order of the site's."""
    zones: tuple[str, ...] = place.site.zones
    return tuple(zone for zone in zones if zone in pool.zones) if pool.zones else zones


def zones_basis(place: Place[Any]) -> tuple[Location, ...]:
    """Return the locations of a site's zones."""
    at: Location = ("sites", place.name, "zones")
    return (at, *((*at, index) for index in range(len(place.site.zones))))


def unknown_zones(place: Place[Any]) -> Iterator[Fault]:
    """Yield a fault for each zone of a pool that its site does not have, or that is named twice."""
    for name, pool in place.pools.items():
        for index, zone in enumerate(pool.zones):
            at, zones = ("pools", name, "zones", index), place.site.zones
            basis: tuple[Location, ...] = (("pools", name, "site"), *zones_basis(place))
            if zone not in zones:
                wrong, write = f"{zone!r} is not a zone of {place.name}", choices(zones, zone)
                yield Fault(at=at, wrong=wrong, write=write, basis=basis)
            elif zone in pool.zones[:index]:
                yield Fault(at=at, wrong=f"{zone!r} is named twice", write="each zone once", basis=basis)
