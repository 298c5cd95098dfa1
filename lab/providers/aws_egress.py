"""Resources for traffic out of a VPC: Elastic IPs, NAT gateways, endpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lab.providers.aws_calls import (
    AwsRefusedError,
    AwsResourceType,
    Call,
    Described,
    arn,
    deletes,
    given,
    gone_is_fine,
    specification,
)

ENDED = ("deleting", "deleted", "failed")

ADDRESSES = Described(operation="describe_addresses", answer="Addresses", key="AllocationId")
NATS = Described(operation="describe_nat_gateways", answer="NatGateways", key="NatGatewayId")
LIVE_NATS = replace(
    NATS,
    alive=lambda described: described["State"] not in ENDED,
    narrow=lambda call: {"Filter": [{"Name": "subnet-id", "Values": [call.inputs["subnetId"]]}]},
)
ENDPOINTS = Described(
    operation="describe_vpc_endpoints",
    answer="VpcEndpoints",
    key="VpcEndpointId",
    alive=lambda described: described["State"].lower() not in ENDED,
    narrow=lambda call: {"Filters": [{"Name": "vpc-id", "Values": [call.inputs["vpcId"]]}]},
)


def egress_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/eip:Eip",
            inputs="domain",
            forced="domain",
            create=lambda call: str(
                call.ec2.allocate_address(
                    Domain=call.inputs.get("domain", "vpc"), TagSpecifications=specification("elastic-ip", call)
                )["AllocationId"]
            ),
            look=ADDRESSES.find,
            outputs=_address_outputs,
            delete=deletes("release_address", "AllocationId", busy=("InvalidIPAddress.InUse", "AuthFailure")),
            find=ADDRESSES.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/natGateway:NatGateway",
            inputs="allocationId subnetId connectivityType secondaryAllocationIds",
            forced="allocationId subnetId connectivityType",
            create=_create_nat,
            look=LIVE_NATS.find,
            outputs=_nat_outputs,
            update=_change_nat,
            delete=_delete_nat,
            find=LIVE_NATS.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/vpcEndpoint:VpcEndpoint",
            inputs="vpcId serviceName vpcEndpointType routeTableIds",
            forced="vpcId serviceName vpcEndpointType",
            create=_create_endpoint,
            look=ENDPOINTS.find,
            outputs=_endpoint_outputs,
            update=_change_endpoint,
            delete=lambda call: gone_is_fine(lambda: call.ec2.delete_vpc_endpoints(VpcEndpointIds=[call.id])),
            find=ENDPOINTS.left,
            tagged=True,
        ),
    )


def _address_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "allocationId": call.id,
        "arn": f"arn:aws:ec2:{call.region}::elastic-ip/{call.id}",
        "associationId": described.get("AssociationId", ""),
        "domain": described["Domain"],
        "publicIp": described["PublicIp"],
    }


def _create_nat(call: Call) -> str:
    made = call.ec2.create_nat_gateway(
        SubnetId=call.inputs["subnetId"],
        AllocationId=call.inputs["allocationId"],
        ConnectivityType=call.inputs.get("connectivityType", "public"),
        ClientToken=call.token,
        TagSpecifications=specification("natgateway", call),
        **given(call, SecondaryAllocationIds="secondaryAllocationIds"),
    )
    call.id = made["NatGateway"]["NatGatewayId"]
    call.until(lambda: (NATS.find(call) or {}).get("State") == "available" or None, f"{call.id} to be available")
    return call.id


def _change_nat(call: Call) -> None:
    """Associate and disassociate secondary addresses, as terraform-provider-aws does (``vpc_nat_gateway.go``)."""
    if "secondaryAllocationIds" not in call.inputs:
        return  # The input is computed: without it, a gateway keeps what it has.
    entries = (NATS.find(call) or {}).get("NatGatewayAddresses", [])
    before = {entry["AllocationId"]: entry["AssociationId"] for entry in entries if not entry["IsPrimary"]}
    after = set(call.inputs.get("secondaryAllocationIds") or [])
    if after - before.keys():
        call.ec2.associate_nat_gateway_address(NatGatewayId=call.id, AllocationIds=sorted(after - before.keys()))
    if before.keys() - after:
        call.ec2.disassociate_nat_gateway_address(
            NatGatewayId=call.id, AssociationIds=sorted(before[id_] for id_ in before.keys() - after)
        )


def _nat_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    address, *more = described.get("NatGatewayAddresses") or [{}]
    secondary = [entry["AllocationId"] for entry in more]
    asked = call.old.get("secondaryAllocationIds") or call.inputs.get("secondaryAllocationIds") or []
    return {
        # The API has a set; the order is the program's.
        "secondaryAllocationIds": asked if sorted(asked) == sorted(secondary) else sorted(secondary),
        "allocationId": address.get("AllocationId", ""),
        "associationId": address.get("AssociationId", ""),
        "networkInterfaceId": address.get("NetworkInterfaceId", ""),
        "privateIp": address.get("PrivateIp", ""),
        "publicIp": address.get("PublicIp", ""),
        "connectivityType": described.get("ConnectivityType", "public"),
        "subnetId": described["SubnetId"],
    }


def _delete_nat(call: Call) -> None:
    gone_is_fine(lambda: call.ec2.delete_nat_gateway(NatGatewayId=call.id))
    call.until(lambda: (NATS.find(call) or {"State": "deleted"})["State"] == "deleted" or None, f"{call.id} to be gone")


def _create_endpoint(call: Call) -> str:
    inputs = call.inputs
    kind = inputs.get("vpcEndpointType", "Gateway")
    if kind != "Gateway":
        raise AwsRefusedError(f"the lab's AWS has endpoints of the type Gateway only, not {kind}")
    made = call.ec2.create_vpc_endpoint(
        VpcId=inputs["vpcId"],
        ServiceName=inputs["serviceName"],
        VpcEndpointType=kind,
        RouteTableIds=inputs.get("routeTableIds", []),
        ClientToken=call.token,
        TagSpecifications=specification("vpc-endpoint", call),
    )
    return str(made["VpcEndpoint"]["VpcEndpointId"])


def _endpoint_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    tables = described.get("RouteTableIds", [])
    asked = call.old.get("routeTableIds") or call.inputs.get("routeTableIds") or []
    return {
        "arn": arn(call, "vpc-endpoint", described.get("OwnerId", ""), call.id),
        "vpcId": described["VpcId"],
        "serviceName": described["ServiceName"],
        "vpcEndpointType": described.get("VpcEndpointType", "Gateway"),
        # The API has a set; the order is the program's.
        "routeTableIds": asked if sorted(asked) == sorted(tables) else sorted(tables),
        "state": described["State"],
    }


def _change_endpoint(call: Call) -> None:
    before = set((ENDPOINTS.find(call) or {}).get("RouteTableIds", []))
    after = set(call.inputs.get("routeTableIds", []))
    if before != after:
        call.ec2.modify_vpc_endpoint(
            VpcEndpointId=call.id, AddRouteTableIds=sorted(after - before), RemoveRouteTableIds=sorted(before - after)
        )
