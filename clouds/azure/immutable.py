"""Immutable settings of a site in Azure."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from clouds.base.fitting import SiteRanges
from clouds.base.immutable import MADE


def settings(site: AzureSite, _ranges: SiteRanges, /) -> dict[str, str]:
    """Return the region, the subscription, the tenant, and the existing parts that the site is in."""
    there = {key: getattr(site.existing, key) for key in ("resource_group", "network", "dns_zone")}
    return {
        "region": site.region,
        "subscription": str(site.subscription),
        "tenant": str(site.tenant),
        # Azure's names and ids are not case-sensitive.
        **{f"existing.{key}": value.lower() if value else MADE for key, value in there.items()},
    }
