"""Facts of a site in Nimbus that stay as they are while it is in use."""

from __future__ import annotations

from clouds.base.fitting import SiteRanges
from clouds.base.held import MADE
from nimbus.site import NimbusSite


def facts(site: NimbusSite, ranges: SiteRanges, /) -> dict[str, str]:
    """Where it is, who pays, in what it was made, and its nodes' range."""
    return {
        "region": site.region,
        "project": site.project,
        "existing.fabric": site.existing.fabric or MADE,
        "nodes": str(ranges.parts["nodes"]),
    }
