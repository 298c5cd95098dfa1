"""What a company has in AWS already: parts of a site that the environment names, so that they are not made."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clouds.base.section import Section

ZoneLetter = Annotated[str, Field(pattern=r"^[a-z]$", examples=["a"])]
"""Letter of an availability zone."""


class AwsNodeSubnet(Section):
    """A subnet of nodes that is there already, and what its packets follow."""

    subnet: str = Field(
        pattern=r"^subnet-[0-9a-f]{8,17}$",
        examples=["subnet-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a subnet's id"},
    )
    """Id of the subnet; its range is the one that the address plan gives the zone's pods."""
    route_table: str = Field(
        pattern=r"^rtb-[0-9a-f]{8,17}$",
        examples=["rtb-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a route table's id"},
    )
    """Id of the route table that the subnet is associated with. It has the subnet's way out; routes to the other sites'
    blocks are added to it."""


class AwsExisting(Section):
    """What is in AWS already. Longhaul neither makes nor tags nor deletes it."""

    vpc: str | None = Field(
        default=None,
        pattern=r"^vpc-[0-9a-f]{8,17}$",
        examples=["vpc-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a VPC's id"},
    )
    """Id of the site's VPC. It holds the site's `range`."""
    internet_gateway: str | None = Field(
        default=None,
        pattern=r"^igw-[0-9a-f]{8,17}$",
        examples=["igw-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "an internet gateway's id"},
    )
    """Id of the VPC's internet gateway, of which it can have one: the way out of the zones whose subnets are made."""
    node_subnets: dict[ZoneLetter, AwsNodeSubnet] = Field(default_factory=dict)
    """Subnets of nodes by the letter of their zone. For zones that are left out, subnets and a NAT gateway are made."""
    vpn_gateway: str | None = Field(
        default=None,
        pattern=r"^vgw-[0-9a-f]{8,17}$",
        examples=["vgw-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a virtual private gateway's id"},
    )
    """Id of the virtual private gateway that is attached to the VPC. Connections are made to it."""
