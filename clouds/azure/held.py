"""Facts of a site in Azure that stay as they are while it is in use."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from clouds.base.fitting import SiteRanges
from clouds.base.held import MADE


def facts(site: AzureSite, _ranges: SiteRanges, /) -> dict[str, str]:
    """Where it is, and in what it was made."""
    there = {key: getattr(site.existing, key) for key in ("resource_group", "network", "dns_zone")}
    return {
        "region": site.region,
        "subscription": str(site.subscription),
        "tenant": str(site.tenant),
        # Azure's names and ids differ in their letters' case alone and are the same.
        **{f"existing.{key}": value.lower() if value else MADE for key, value in there.items()},
    }
