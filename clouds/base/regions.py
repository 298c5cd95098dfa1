"""The dated table of a cloud's regions and of the machine types that it sells in them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = "regions.json"
"""Name of a cloud's table, beside its modules. Its ``region_table`` module writes it; nobody edits it."""


@dataclass(frozen=True, kw_only=True)
class Regions:
    """Regions and machine types of a cloud on a day. Clouds open regions and sell types in more of them all the time:
    what is not in the table may be there by now."""

    day: str
    """Day on which the table was written, YYYY-MM-DD."""
    source: str
    regions: Mapping[str, str]
    """Letters of each region's availability zones; empty where the source has none."""
    types: Mapping[str, tuple[str, ...]]
    """Regions in which each machine type is sold; empty where the source has no types."""


@cache
def read_regions(package: str) -> Regions:
    """Return the table beside the module file ``package``."""
    raw: dict[str, Any] = json.loads(Path(package).with_name(FILE).read_text(encoding="utf-8"))
    types = {name: tuple(one["regions"]) for one in raw["sold"] for name in one["types"]}
    return Regions(day=raw["day"], source=raw["source"], regions=raw["regions"], types=types)


def write_regions(package: str, table: Regions) -> None:
    """Write the table beside the module file ``package``. Types that are sold in the same regions are one entry."""
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, regions in table.types.items():
        alike[tuple(sorted(regions))].append(name)
    entries = [
        json.dumps({"types": sorted(names), "regions": regions})
        for regions, names in sorted(alike.items(), key=lambda one: min(one[1]))
    ]
    raw = {"day": table.day, "source": table.source, "regions": dict(sorted(table.regions.items()))}
    head = json.dumps(raw, indent=1).removesuffix("\n}")
    sold = "".join(f"{',' if index else ''}\n  {entry}" for index, entry in enumerate(entries))
    Path(package).with_name(FILE).write_text(f'{head},\n "sold": [{sold}\n ]\n}}\n', encoding="utf-8")
