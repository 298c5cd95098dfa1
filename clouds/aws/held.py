"""Facts of a site in AWS that stay as they are while it is in use."""

from __future__ import annotations

from clouds.aws.site import AwsSite
from clouds.base.fitting import SiteRanges
from clouds.base.held import MADE


def facts(site: AwsSite, ranges: SiteRanges) -> dict[str, str]:
    """Where it is, in what it was made, and its zones' ranges: a subnet is one zone's, and the plan goes by their
    order."""
    return {
        "region": site.region,
        "existing.vpc": site.existing.vpc or MADE,
        **({"account": site.account} if site.account else {}),
        **{f"zones.{zone}": str(range_) for zone, range_ in zip(site.zones, ranges.zones, strict=False)},
    }
