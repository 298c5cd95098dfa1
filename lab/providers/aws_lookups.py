"""Functions of pulumi-aws that look up existing resources by id: VPCs, subnets, route tables, VPN gateways."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.providers.aws_calls import AwsRefusedError, Call, Described, tag_outputs
from lab.providers.aws_routes import TABLES
from lab.providers.aws_vpc import SUBNETS, VPCS
from lab.providers.aws_vpn import GATEWAYS

KEY = "AWS_ACCESS_KEY_ID"
"""Environment variable that is set when there is a cloud to ask."""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One function of the SDK."""

    by: str
    """Argument that holds the id; the only other argument is ``region``."""
    described: Described
    outputs: Callable[[Call, dict[str, Any]], dict[str, Any]]
    """Returns the outputs without tags, which all resources have."""


def known_lookups() -> Mapping[str, Lookup]:
    """Return every function that can be called, by its token."""
    return {
        "aws:ec2/getVpc:getVpc": Lookup(by="id", described=VPCS, outputs=_vpc),
        "aws:ec2/getSubnet:getSubnet": Lookup(by="id", described=SUBNETS, outputs=_subnet),
        "aws:ec2/getRouteTable:getRouteTable": Lookup(by="routeTableId", described=TABLES, outputs=_route_table),
        "aws:ec2/getVpnGateway:getVpnGateway": Lookup(by="id", described=GATEWAYS, outputs=_vpn_gateway),
    }


def look_up(lookup: Lookup, call: Call, *, preview: bool) -> dict[str, Any]:
    """Return the values for the SDK; empty in a preview without a cloud.

    Raises:
        AwsRefusedError: the resource does not exist, or an argument is not known here.
    """
    given = {name for name, value in call.inputs.items() if value is not None}
    if given - {"region"} != {lookup.by}:
        raise AwsRefusedError(f"the lab looks this up by {lookup.by}, not by {', '.join(sorted(given))}")
    if preview and not os.environ.get(KEY):
        return {}
    call.id = str(call.inputs[lookup.by])
    described = lookup.described.find(call)
    if described is None:
        raise AwsRefusedError(f"no matching resource found: {call.id} in {call.region}")
    tags = tag_outputs(described)["tags"]
    return {"id": call.id, "region": call.region, **lookup.outputs(call, described), "tags": tags}


def _vpc(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "cidrBlock": described["CidrBlock"],
        "cidrBlockAssociations": [
            {
                "associationId": item["AssociationId"],
                "cidrBlock": item["CidrBlock"],
                "state": item["CidrBlockState"]["State"],
            }
            for item in described["CidrBlockAssociationSet"]
        ],
        "ownerId": described["OwnerId"],
    }


def _subnet(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "vpcId": described["VpcId"],
        "cidrBlock": described["CidrBlock"],
        "availabilityZone": described["AvailabilityZone"],
        "ownerId": described["OwnerId"],
    }


def _route_table(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "vpcId": described["VpcId"],
        "routeTableId": call.id,
        "associations": [
            {
                "main": bool(item.get("Main", False)),
                "routeTableAssociationId": item["RouteTableAssociationId"],
                "routeTableId": call.id,
                "subnetId": item.get("SubnetId", ""),
                "gatewayId": item.get("GatewayId", ""),
            }
            for item in described.get("Associations", [])
        ],
    }


def _vpn_gateway(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    attached = [item["VpcId"] for item in described.get("VpcAttachments", []) if item.get("State") == "attached"]
    return {
        "attachedVpcId": attached[0] if attached else "",
        "state": described.get("State", ""),
    }
