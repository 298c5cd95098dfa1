"""Facts of a site of racks that stay as they are while it is in use: none but those of every site."""

from __future__ import annotations

from clouds.base.fitting import SiteRanges
from clouds.onprem.site import OnpremSite


def facts(_site: OnpremSite, _ranges: SiteRanges, /) -> dict[str, str]:
    """None."""
    return {}
