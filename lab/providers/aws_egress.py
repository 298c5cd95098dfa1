"""Ways out of a VPC: elastic addresses, NAT gateways, endpoints."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_kinds import (
    AwsRefusedError,
    Call,
    Kind,
    absent_is_none,
    arn,
    by_name,
    gone_is_fine,
    one,
    same_tags,
    specification,
    tag_outputs,
)

ENDED = ("deleting", "deleted", "failed")


def egress_kinds() -> tuple[Kind, ...]:
    """Everything of this table."""
    return (
        Kind(
            type="aws:ec2/eip:Eip",
            inputs="domain",
            forced="domain",
            create=lambda call: str(
                call.ec2.allocate_address(
                    Domain=call.inputs.get("domain", "vpc"), TagSpecifications=specification("elastic-ip", call)
                )["AllocationId"]
            ),
            read=_read_address,
            delete=lambda call: call.retried(
                ("InvalidIPAddress.InUse", "AuthFailure"),
                lambda: gone_is_fine(lambda: call.ec2.release_address(AllocationId=call.id)),
                f"releasing {call.id}",
            ),
            find=lambda call: same_tags(
                call, call.ec2.describe_addresses(Filters=by_name(call))["Addresses"], "AllocationId"
            ),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/natGateway:NatGateway",
            inputs="allocationId subnetId connectivityType",
            forced="allocationId subnetId connectivityType",
            create=_create_nat,
            read=_read_nat,
            delete=_delete_nat,
            find=lambda call: same_tags(call, _nats(call), "NatGatewayId"),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/vpcEndpoint:VpcEndpoint",
            inputs="vpcId serviceName vpcEndpointType routeTableIds",
            forced="vpcId serviceName vpcEndpointType",
            create=_create_endpoint,
            read=_read_endpoint,
            update=_change_endpoint,
            delete=lambda call: gone_is_fine(lambda: call.ec2.delete_vpc_endpoints(VpcEndpointIds=[call.id])),
            find=_find_endpoint,
            tagged=True,
        ),
    )


def _read_address(call: Call) -> dict[str, Any] | None:
    found = absent_is_none(lambda: one(call.ec2.describe_addresses(AllocationIds=[call.id]), "Addresses"))
    if found is None:
        return None
    return {
        "allocationId": call.id,
        "arn": f"arn:aws:ec2:{call.region}::elastic-ip/{call.id}",
        "associationId": found.get("AssociationId", ""),
        "domain": found["Domain"],
        "publicIp": found["PublicIp"],
        **tag_outputs(found),
    }


def _create_nat(call: Call) -> str:
    made = call.ec2.create_nat_gateway(
        SubnetId=call.inputs["subnetId"],
        AllocationId=call.inputs["allocationId"],
        ConnectivityType=call.inputs.get("connectivityType", "public"),
        ClientToken=call.token,
        TagSpecifications=specification("natgateway", call),
    )
    call.id = made["NatGateway"]["NatGatewayId"]
    call.until(lambda: (_nat(call) or {}).get("State") == "available" or None, f"{call.id} to be available")
    return call.id


def _nat(call: Call) -> dict[str, Any] | None:
    return absent_is_none(lambda: one(call.ec2.describe_nat_gateways(NatGatewayIds=[call.id]), "NatGateways"))


def _nats(call: Call) -> list[dict[str, Any]]:
    subnet = [{"Name": "subnet-id", "Values": [call.inputs["subnetId"]]}]
    found = call.ec2.describe_nat_gateways(Filter=subnet)["NatGateways"]
    return [item for item in found if item["State"] not in ENDED]


def _read_nat(call: Call) -> dict[str, Any] | None:
    found = _nat(call)
    if found is None or found["State"] in ENDED:
        return None
    address = (found.get("NatGatewayAddresses") or [{}])[0]
    return {
        "allocationId": address.get("AllocationId", ""),
        "associationId": address.get("AssociationId", ""),
        "networkInterfaceId": address.get("NetworkInterfaceId", ""),
        "privateIp": address.get("PrivateIp", ""),
        "publicIp": address.get("PublicIp", ""),
        "connectivityType": found.get("ConnectivityType", "public"),
        "subnetId": found["SubnetId"],
        **tag_outputs(found),
    }


def _delete_nat(call: Call) -> None:
    gone_is_fine(lambda: call.ec2.delete_nat_gateway(NatGatewayId=call.id))
    call.until(lambda: (_nat(call) or {"State": "deleted"})["State"] == "deleted" or None, f"{call.id} to be gone")


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


def _endpoint(call: Call) -> dict[str, Any] | None:
    found = absent_is_none(lambda: one(call.ec2.describe_vpc_endpoints(VpcEndpointIds=[call.id]), "VpcEndpoints"))
    return None if found is None or found["State"].lower() in ENDED else found


def _read_endpoint(call: Call) -> dict[str, Any] | None:
    found = _endpoint(call)
    if found is None:
        return None
    tables = found.get("RouteTableIds", [])
    asked = call.old.get("routeTableIds") or call.inputs.get("routeTableIds") or []
    return {
        "arn": arn(call, "vpc-endpoint", found.get("OwnerId", ""), call.id),
        "vpcId": found["VpcId"],
        "serviceName": found["ServiceName"],
        "vpcEndpointType": found.get("VpcEndpointType", "Gateway"),
        # A set: the order is the program's.
        "routeTableIds": asked if sorted(asked) == sorted(tables) else sorted(tables),
        "state": found["State"],
        **tag_outputs(found),
    }


def _change_endpoint(call: Call) -> None:
    before = set((_endpoint(call) or {}).get("RouteTableIds", []))
    after = set(call.inputs.get("routeTableIds", []))
    if before != after:
        call.ec2.modify_vpc_endpoint(
            VpcEndpointId=call.id, AddRouteTableIds=sorted(after - before), RemoveRouteTableIds=sorted(before - after)
        )


def _find_endpoint(call: Call) -> list[str]:
    vpc = [{"Name": "vpc-id", "Values": [call.inputs["vpcId"]]}]
    found = call.ec2.describe_vpc_endpoints(Filters=vpc)["VpcEndpoints"]
    return same_tags(call, [item for item in found if item["State"].lower() not in ENDED], "VpcEndpointId")
