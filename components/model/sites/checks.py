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
