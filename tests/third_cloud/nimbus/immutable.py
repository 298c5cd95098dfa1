"""Immutable settings of a site in Nimbus."""

from __future__ import annotations

from clouds.base.fitting import SiteRanges
from clouds.base.immutable import MADE
from nimbus.site import NimbusSite


def settings(site: NimbusSite, ranges: SiteRanges, /) -> dict[str, str]:
    """Return its region, the project that pays, the fabric that it was made in, and its nodes' range."""
    return {
        "region": site.region,
        "project": site.project,
        "existing.fabric": site.existing.fabric or MADE,
        "nodes": str(ranges.parts["nodes"]),
    }
