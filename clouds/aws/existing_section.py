"""Existing parts of a site in AWS, which the environment names so that Longhaul does not make them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clouds.base.section import Section

ZoneLetter = Annotated[str, Field(pattern=r"^[a-z]$", examples=["a"])]
"""Letter of an availability zone."""


class AwsNodeSubnet(Section):
    """An existing subnet for nodes, and its route table."""

    subnet: str = Field(
        pattern=r"^subnet-[0-9a-f]{8,17}$",
        examples=["subnet-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a subnet's id"},
    )
    """Id of the subnet. Its range must be the range that the address plan gives the zone's nodes and pods."""
    route_table: str = Field(
        pattern=r"^rtb-[0-9a-f]{8,17}$",
        examples=["rtb-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a route table's id"},
    )
    """Id of the route table that the subnet is associated with. It must contain the subnet's route for outbound
    traffic. Longhaul adds routes to the other sites' blocks."""


class AwsExisting(Section):
    """Existing parts of a site in AWS. Longhaul neither makes nor tags nor deletes them."""

    vpc: str | None = Field(
        default=None,
        pattern=r"^vpc-[0-9a-f]{8,17}$",
        examples=["vpc-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a VPC's id"},
    )
    """Id of the site's VPC. Its ranges must contain the site's `range`."""
    internet_gateway: str | None = Field(
        default=None,
        pattern=r"^igw-[0-9a-f]{8,17}$",
        examples=["igw-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "an internet gateway's id"},
    )
    """Id of the internet gateway of the VPC, which can have only one. If Longhaul makes the subnets of a zone, the zone
    reaches the internet through this gateway."""
    node_subnets: dict[ZoneLetter, AwsNodeSubnet] = Field(default_factory=dict)
    """Subnets for nodes, by the letter of their zone. For every other zone, Longhaul makes subnets and a NAT
    gateway."""
    vpn_gateway: str | None = Field(
        default=None,
        pattern=r"^vgw-[0-9a-f]{8,17}$",
        examples=["vgw-0123456789abcdef0"],
        json_schema_extra={"patternErrorMessage": "a virtual private gateway's id"},
    )
    """Id of the virtual private gateway that is attached to the VPC. Longhaul makes VPN connections to it."""
