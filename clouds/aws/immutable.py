"""Immutable settings of a site in AWS."""

from __future__ import annotations

from clouds.aws.site import AwsSite
from clouds.base.fitting import SiteRanges
from clouds.base.immutable import MADE


def settings(site: AwsSite, ranges: SiteRanges) -> dict[str, str]:
    """Return the region, the VPC, the account if the file names it, and the range of each zone. Zones are included
    because a subnet belongs to one zone, and the address plan assigns ranges in the zones' order."""
    return {
        "region": site.region,
        "existing.vpc": site.existing.vpc or MADE,
        **({"account": site.account} if site.account else {}),
        **{f"zones.{zone}": str(range_) for zone, range_ in zip(site.zones, ranges.zones, strict=False)},
    }
