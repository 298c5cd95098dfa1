"""A site in AWS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from clouds.aws.existing_section import AwsExisting, ZoneLetter
from clouds.base.regions import read_regions
from clouds.base.replaces import Replaces
from clouds.base.site import ZONES, Gateway, SiteBase


def _default_zones(section: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the first two zones of the region in the table."""
    return tuple(read_regions(__file__).regions.get(section.get("region", ""), "")[:2]) or ("a", "b")


class AwsSite(SiteBase):
    """A site in AWS: a region with one VPC."""

    kind: Annotated[Literal["aws"], Replaces.STATE]
    """Always `aws`."""
    region: Annotated[str, Replaces.STATE] = Field(
        pattern=r"^[a-z]{2}(-[a-z]+)+-\d$",
        examples=["us-east-1"],
        json_schema_extra={"patternErrorMessage": "AWS's name of a region"},
    )
    """AWS's name of the region, such as `us-east-1`."""
    account: Annotated[str | None, Replaces.STATE] = Field(
        default=None,
        pattern=r"^[0-9]{12}$",
        examples=["123456789012"],
        json_schema_extra={"patternErrorMessage": "an account's id, 12 digits in quotes"},
    )
    """Id of the account, the same for every AWS site. Longhaul makes nothing when the credentials belong to another
    account."""
    zones: Annotated[tuple[ZoneLetter, ...], Replaces.STATE] = Field(
        default_factory=_default_zones, min_length=2, max_length=ZONES
    )
    """Letters of the availability zones, at least two. Left out, the first two that AWS's table of regions has for the
    region (`a` and `c` in `ap-northeast-1`), or `a` and `b`."""
    image: Annotated[str, Replaces.SITE] = Field(pattern=r"^ami-[0-9a-f]{8,17}$", examples=["ami-0123456789abcdef0"])
    """Id of the node image in this region."""
    existing: Annotated[AwsExisting, Replaces.STATE] = Field(default_factory=AwsExisting)
    """Existing parts of the site, which Longhaul does not make."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """Return nothing: AWS has its own gateway."""
        return ()
