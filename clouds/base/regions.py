"""The dated table of a cloud's regions and of the machine types sold in them, and cautions from that table."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from clouds.base.faults import Caution
from clouds.base.phrases import word_list
from clouds.base.place import Place
from contract.reasons.plan import FileReason

FILE = "regions.json"
"""Name of the file with a cloud's table, in the cloud's folder. The ``region_table`` module there writes the file;
nobody edits it."""


@dataclass(frozen=True, kw_only=True)
class Regions:
    """Regions and machine types of a cloud on a date. Clouds open regions and sell further types all the time, so
    something that the table lacks may exist by now."""

    day: str
    """Day on which the table was written, YYYY-MM-DD."""
    source: str
    regions: Mapping[str, str]
    """Letters of each region's availability zones; empty when the source has none."""
    types: Mapping[str, tuple[str, ...]]
    """Regions in which each machine type is sold; empty when the source has no types."""


@cache
def read_regions(package: str) -> Regions:
    """Return the table beside the module file ``package``."""
    raw: dict[str, Any] = json.loads(Path(package).with_name(FILE).read_text(encoding="utf-8"))
    types = {name: tuple(entry["regions"]) for entry in raw["sold"] for name in entry["types"]}
    return Regions(day=raw["day"], source=raw["source"], regions=raw["regions"], types=types)


def write_regions(package: str, table: Regions) -> None:
    """Write the table beside the module file ``package``. Types that are sold in the same regions are one entry."""
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, regions in table.types.items():
        alike[tuple(sorted(regions))].append(name)
    entries = [
        json.dumps({"types": sorted(names), "regions": regions})
        for regions, names in sorted(alike.items(), key=lambda pair: min(pair[1]))
    ]
    raw = {"day": table.day, "source": table.source, "regions": dict(sorted(table.regions.items()))}
    head = json.dumps(raw, indent=1).removesuffix("\n}")
    sold = "".join(f"{',' if index else ''}\n  {entry}" for index, entry in enumerate(entries))
    Path(package).with_name(FILE).write_text(f'{head},\n "sold": [{sold}\n ]\n}}\n', encoding="utf-8")


def region_cautions(place: Place[Any], table: Regions, *, title: str) -> Iterator[Caution]:
    """Yield a caution if the table lacks the site's region. Otherwise yield one if the table has fewer zones in the
    region than the site names, and one for each pool whose machine type the table does not list in the region. If the
    table lacks a region's zones, it lacks its machine types too."""
    region, at = place.site.region, ("sites", place.name, "region")
    if region not in table.regions:
        yield Caution(
            reason=FileReason.UNKNOWN_REGION,
            at=at,
            site=place.name,
            wrong=f"{region!r} is no region of {title} in its table of {table.day}",
            write=f"{_closest(table, region)}; or keep it, if {title} has opened it since",
        )
        return
    zones, named = table.regions[region], place.site.zones
    # Accounts have different letters, so a letter that the table lacks in between causes no caution.
    if zones and (len(named) > len(zones) or max(named) > max(zones)):
        yield Caution(
            reason=FileReason.UNKNOWN_ZONES,
            at=("sites", place.name, "zones"),
            site=place.name,
            wrong=f"{region} has the zones {word_list(zones)} in {title}'s table of {table.day}; "
            f"{word_list(named)} are named",
            write=f"some of these; or keep yours, if {title} has opened more since",
        )
    for name, pool in place.pools.items() if zones else ():
        sold = table.types.get(pool.machine_type)
        if sold is None or region not in sold:
            offer = "does not list the type" if sold is None else f"lists it only in {', '.join(sorted(sold))}"
            yield Caution(
                reason=FileReason.TYPE_NOT_SOLD,
                at=("pools", name, "machine_type"),
                site=place.name,
                pool=name,
                wrong=f"{pool.machine_type} is not known to be sold in {region}: "
                f"{title}'s table of {table.day} {offer}",
                write=f"a type that is sold there, or a site where it is; or keep it, if {title} has begun to sell it",
                basis=(("pools", name, "site"), at),
            )


def _closest(table: Regions, region: str) -> str:
    """Return the known regions with the most similar names."""
    close = get_close_matches(region, sorted(table.regions), n=3, cutoff=0)
    return f"a region of the table, such as {', '.join(close)}"
