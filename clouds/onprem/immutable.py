"""Immutable settings of an on-premises site: only those of every site."""

from __future__ import annotations

from clouds.base.fitting import SiteRanges
from clouds.onprem.site import OnpremSite


def settings(_site: OnpremSite, _ranges: SiteRanges, /) -> dict[str, str]:
    """Return an empty mapping."""
    return {}
