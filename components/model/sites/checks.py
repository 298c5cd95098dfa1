"""Checks of a site's own fields, which apply in every cloud."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from components.model.environment import Environment


def check_zones(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each zone that a site names twice."""
    for name, site in environment.sites.items():
        for index, zone in enumerate(site.zones):
            if zone in site.zones[:index]:
                at = ("sites", name, "zones", index)
                yield Fault(at=at, wrong=f"{zone!r} is named twice", write="each zone once")


def check_blocks(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each prefix length beside a range of another size, which alone would count."""
    for name, site in environment.sites.items():
        if site.range is not None and "prefix" in site.model_fields_set and site.prefix != site.range.prefixlen:
            wrong = f"a /{site.prefix} is not the size of `range`, {site.range}, which alone counts"
            at, basis = ("sites", name, "prefix"), (("sites", name, "range"),)
            yield Fault(at=at, wrong=wrong, write="leave one of the two out", basis=basis)
