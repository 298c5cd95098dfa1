"""The functions of pulumi-aws that look up what is there: VPCs, subnets, route tables, VPN gateways, each by its id."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.providers.aws_kinds import AwsRefusedError, Call, absent_is_none, one, tag_outputs

KEY = "AWS_ACCESS_KEY_ID"
"""Set where there is a cloud to ask."""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One function of the SDK."""

    by: str
    """The argument that holds the id; besides it only ``region`` is known."""
    read: Callable[[Call], dict[str, Any] | None]


def known_lookups() -> Mapping[str, Lookup]:
    """Every function that can be called, by its token."""
    return {
        "aws:ec2/getVpc:getVpc": Lookup(by="id", read=_vpc),
        "aws:ec2/getSubnet:getSubnet": Lookup(by="id", read=_subnet),
        "aws:ec2/getRouteTable:getRouteTable": Lookup(by="routeTableId", read=_route_table),
        "aws:ec2/getVpnGateway:getVpnGateway": Lookup(by="id", read=_vpn_gateway),
    }


def look_up(lookup: Lookup, call: Call, *, preview: bool) -> dict[str, Any]:
    """What the SDK is told; nothing while previewing where there is no cloud.

    Raises:
        AwsRefusedError: it is not there, or an argument is not known here.
    """
    given = {name for name, value in call.inputs.items() if value is not None}
    if given - {"region"} != {lookup.by}:
        raise AwsRefusedError(f"the lab looks this up by {lookup.by}, not by {', '.join(sorted(given))}")
    if preview and not os.environ.get(KEY):
        return {}
    call.id = str(call.inputs[lookup.by])
    found = absent_is_none(lambda: lookup.read(call))
    if found is None:
        raise AwsRefusedError(f"no matching resource found: {call.id} in {call.region}")
    return {"id": call.id, "region": call.region, **found}


def _vpc(call: Call) -> dict[str, Any] | None:
    found = one(call.ec2.describe_vpcs(VpcIds=[call.id]), "Vpcs")
    return found and {
        "cidrBlock": found["CidrBlock"],
        "cidrBlockAssociations": [
            {
                "associationId": item["AssociationId"],
                "cidrBlock": item["CidrBlock"],
                "state": item["CidrBlockState"]["State"],
            }
            for item in found["CidrBlockAssociationSet"]
        ],
        "ownerId": found["OwnerId"],
        "tags": tag_outputs(found)["tags"],
    }


def _subnet(call: Call) -> dict[str, Any] | None:
    found = one(call.ec2.describe_subnets(SubnetIds=[call.id]), "Subnets")
    return found and {
        "vpcId": found["VpcId"],
        "cidrBlock": found["CidrBlock"],
        "availabilityZone": found["AvailabilityZone"],
        "ownerId": found["OwnerId"],
        "tags": tag_outputs(found)["tags"],
    }


def _route_table(call: Call) -> dict[str, Any] | None:
    found = one(call.ec2.describe_route_tables(RouteTableIds=[call.id]), "RouteTables")
    return found and {
        "vpcId": found["VpcId"],
        "routeTableId": call.id,
        "associations": [
            {
                "main": bool(item.get("Main", False)),
                "routeTableAssociationId": item["RouteTableAssociationId"],
                "routeTableId": call.id,
                "subnetId": item.get("SubnetId", ""),
                "gatewayId": item.get("GatewayId", ""),
            }
            for item in found.get("Associations", [])
        ],
        "tags": tag_outputs(found)["tags"],
    }


def _vpn_gateway(call: Call) -> dict[str, Any] | None:
    found = one(call.ec2.describe_vpn_gateways(VpnGatewayIds=[call.id]), "VpnGateways")
    if found is None or found.get("State") == "deleted":
        return None
    attached = [item["VpcId"] for item in found.get("VpcAttachments", []) if item.get("State") == "attached"]
    return {
        "attachedVpcId": attached[0] if attached else "",
        "state": found.get("State", ""),
        "tags": tag_outputs(found)["tags"],
    }
