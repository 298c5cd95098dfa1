"""Doubts about a site's region and about the machine types of its pools, by the cloud's dated table."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from clouds.base.caution import Caution
from clouds.base.place import Place
from clouds.base.regions import Regions
from clouds.base.words import listed


def region_cautions(place: Place[Any], table: Regions, *, title: str) -> Iterator[Caution]:
    """Yield a caution if the table has no such region or not so many zones; else one for each pool whose type the table
    does not have in it. Of a region whose zones it does not have, it knows no types either."""
    region, at = place.site.region, ("sites", place.name, "region")
    if region not in table.regions:
        yield Caution(
            name="unknown-region",
            at=at,
            site=place.name,
            wrong=f"{region!r} is no region of {title} in its table of {table.day}",
            write=f"{_closest(table, region)}; or keep it, if {title} has opened it since",
        )
        return
    zones, named = table.regions[region], place.site.zones
    # Accounts differ in which letters they have, so one that the table lacks in between is in no doubt.
    if zones and (len(named) > len(zones) or max(named) > max(zones)):
        yield Caution(
            name="unknown-zones",
            at=("sites", place.name, "zones"),
            site=place.name,
            wrong=f"{region} has the zones {listed(zones)} in {title}'s table of {table.day}; "
            f"{listed(named)} are named",
            write=f"some of these; or keep yours, if {title} has opened more since",
        )
    for name, pool in place.pools.items() if zones else ():
        sold = table.types.get(pool.machine_type)
        if sold is None or region not in sold:
            told = "of no such type" if sold is None else f"of {', '.join(sorted(sold))} alone"
            yield Caution(
                name=f"unsold-{name}",
                at=("pools", name, "machine_type"),
                site=place.name,
                pool=name,
                wrong=f"{pool.machine_type} is not known to be sold in {region}: "
                f"{title}'s table of {table.day} tells {told}",
                write=f"a type that is sold there, or a site where it is; or keep it, if {title} has begun to sell it",
                basis=(("pools", name, "site"), at),
            )


def _closest(table: Regions, region: str) -> str:
    """Return a few regions whose names are the closest."""
    close = get_close_matches(region, sorted(table.regions), n=3, cutoff=0)
    return f"a region of the table, such as {', '.join(close)}"
