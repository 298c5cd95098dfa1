"""A site in AWS."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.aws.existing import AwsExisting, ZoneLetter
from clouds.base.gateway import Gateway
from clouds.base.site import ZONES, SiteBase


class AwsSite(SiteBase):
    """A region of AWS: one VPC."""

    kind: Literal["aws"]
    """AWS."""
    region: str = Field(
        pattern=r"^[a-z]{2}(-[a-z]+)+-\d$",
        examples=["us-east-1"],
        json_schema_extra={"patternErrorMessage": "AWS's name of a region"},
    )
    """AWS's name of the region, such as `us-east-1`."""
    account: str | None = Field(
        default=None,
        pattern=r"^[0-9]{12}$",
        examples=["123456789012"],
        json_schema_extra={"patternErrorMessage": "an account's id, 12 digits in quotes"},
    )
    """The account, the same for every AWS site. With credentials of another one nothing is made."""
    zones: tuple[ZoneLetter, ...] = Field(default=("a", "b"), min_length=2, max_length=ZONES)
    """Letters of the availability zones, at least two."""
    image: str = Field(pattern=r"^ami-[0-9a-f]{8,17}$", examples=["ami-0123456789abcdef0"])
    """Id of the node image in this region."""
    existing: AwsExisting = Field(default_factory=AwsExisting)
    """What is there already, and so is not made."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """None of the operator's own."""
        return ()
