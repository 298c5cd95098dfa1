"""VPCs, subnets and their parts: the plugin's table of network resources."""

from __future__ import annotations

from functools import partial
from typing import Any

from lab.providers.aws_calls import (
    AwsResourceType,
    Call,
    Described,
    absent_is_none,
    arn,
    deletes,
    given,
    gone_is_fine,
    specification,
)

DEPENDENT = ("DependencyViolation",)

VPCS = Described(operation="describe_vpcs", answer="Vpcs", key="VpcId")
INTERNET_GATEWAYS = Described(
    operation="describe_internet_gateways", answer="InternetGateways", key="InternetGatewayId"
)
SUBNETS = Described(operation="describe_subnets", answer="Subnets", key="SubnetId")


def network_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/vpc:Vpc",
            inputs="cidrBlock enableDnsSupport enableDnsHostnames instanceTenancy",
            forced="cidrBlock instanceTenancy",
            create=_create_vpc,
            look=VPCS.find,
            outputs=_vpc_outputs,
            update=_set_dns,
            delete=deletes("delete_vpc", "VpcId", busy=DEPENDENT),
            find=VPCS.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
            inputs="vpcId cidrBlock",
            forced="vpcId cidrBlock",
            create=lambda call: str(
                call.ec2.associate_vpc_cidr_block(VpcId=call.inputs["vpcId"], CidrBlock=call.inputs["cidrBlock"])[
                    "CidrBlockAssociation"
                ]["AssociationId"]
            ),
            look=_range,
            outputs=lambda call, described: {"vpcId": call.old["vpcId"], "cidrBlock": described["CidrBlock"]},
            delete=deletes("disassociate_vpc_cidr_block", "AssociationId"),
            find=_find_range,
        ),
        AwsResourceType(
            type="aws:ec2/internetGateway:InternetGateway",
            inputs="vpcId",
            create=_create_internet_gateway,
            look=INTERNET_GATEWAYS.find,
            outputs=_internet_gateway_outputs,
            update=_move_internet_gateway,
            delete=_delete_internet_gateway,
            find=INTERNET_GATEWAYS.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/subnet:Subnet",
            inputs="vpcId cidrBlock availabilityZone mapPublicIpOnLaunch",
            forced="vpcId cidrBlock availabilityZone",
            create=_create_subnet,
            look=SUBNETS.find,
            outputs=_subnet_outputs,
            update=_set_public,
            delete=deletes("delete_subnet", "SubnetId", busy=DEPENDENT),
            find=SUBNETS.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/subnetCidrReservation:SubnetCidrReservation",
            inputs="subnetId cidrBlock reservationType description",
            forced="subnetId cidrBlock reservationType description",
            create=_create_reservation,
            look=_reservation,
            outputs=_reservation_outputs,
            delete=deletes("delete_subnet_cidr_reservation", "SubnetCidrReservationId"),
            find=lambda call: [
                item["SubnetCidrReservationId"]
                for item in _reservations(call)
                if item["Cidr"] == call.inputs["cidrBlock"]
            ],
        ),
    )


def _create_vpc(call: Call) -> str:
    made = call.ec2.create_vpc(
        CidrBlock=call.inputs["cidrBlock"],
        TagSpecifications=specification("vpc", call),
        **given(call, InstanceTenancy="instanceTenancy"),
    )
    call.id = made["Vpc"]["VpcId"]
    _set_dns(call)
    return call.id


def _set_dns(call: Call) -> None:
    for name, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
        if call.inputs.get(name) is not None and call.changed(name):
            call.ec2.modify_vpc_attribute(VpcId=call.id, **{key: {"Value": bool(call.inputs[name])}})


def _vpc_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    attributes = {
        name: call.ec2.describe_vpc_attribute(VpcId=call.id, Attribute=name)[key]["Value"]
        for name, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames"))
    }
    return {
        "arn": arn(call, "vpc", described["OwnerId"], call.id),
        "cidrBlock": described["CidrBlock"],
        "instanceTenancy": described.get("InstanceTenancy", "default"),
        "ownerId": described["OwnerId"],
        "dhcpOptionsId": described.get("DhcpOptionsId", ""),
        **attributes,
    }


def _ranges(call: Call, vpc_id: str) -> list[dict[str, Any]]:
    described = VPCS.find(call, vpc_id)
    associations: list[dict[str, Any]] = described["CidrBlockAssociationSet"] if described else []
    return [item for item in associations if item.get("CidrBlockState", {}).get("State") == "associated"]


def _range(call: Call) -> dict[str, Any] | None:
    return next((item for item in _ranges(call, call.old["vpcId"]) if item["AssociationId"] == call.id), None)


def _find_range(call: Call) -> list[str]:
    wanted = call.inputs["cidrBlock"]
    return [item["AssociationId"] for item in _ranges(call, call.inputs["vpcId"]) if item["CidrBlock"] == wanted]


def _create_internet_gateway(call: Call) -> str:
    made = call.ec2.create_internet_gateway(TagSpecifications=specification("internet-gateway", call))
    call.id = made["InternetGateway"]["InternetGatewayId"]
    _move_internet_gateway(call)
    return call.id


def _move_internet_gateway(call: Call) -> None:
    wanted = call.inputs.get("vpcId")
    attached = [item["VpcId"] for item in (INTERNET_GATEWAYS.find(call) or {}).get("Attachments", [])]
    for vpc_id in attached:
        if vpc_id != wanted:
            call.ec2.detach_internet_gateway(InternetGatewayId=call.id, VpcId=vpc_id)
    if wanted and wanted not in attached:
        call.ec2.attach_internet_gateway(InternetGatewayId=call.id, VpcId=wanted)


def _internet_gateway_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    owner = described.get("OwnerId", "")
    attached = [item["VpcId"] for item in described.get("Attachments", [])]
    return {
        "arn": arn(call, "internet-gateway", owner, call.id),
        "ownerId": owner,
        "vpcId": attached[0] if attached else "",
    }


def _delete_internet_gateway(call: Call) -> None:
    for item in (INTERNET_GATEWAYS.find(call) or {}).get("Attachments", []):
        detach = partial(call.ec2.detach_internet_gateway, InternetGatewayId=call.id, VpcId=item["VpcId"])
        call.retried(DEPENDENT, detach, f"detaching {call.id}")
    gone_is_fine(lambda: call.ec2.delete_internet_gateway(InternetGatewayId=call.id))


def _create_subnet(call: Call) -> str:
    inputs = call.inputs
    made = call.ec2.create_subnet(
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        TagSpecifications=specification("subnet", call),
        **given(call, AvailabilityZone="availabilityZone"),
    )
    call.id = made["Subnet"]["SubnetId"]
    _set_public(call)
    return call.id


def _set_public(call: Call) -> None:
    wanted = call.inputs.get("mapPublicIpOnLaunch")
    if wanted is not None and call.changed("mapPublicIpOnLaunch"):
        call.ec2.modify_subnet_attribute(SubnetId=call.id, MapPublicIpOnLaunch={"Value": bool(wanted)})


def _subnet_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "arn": arn(call, "subnet", described["OwnerId"], call.id),
        "vpcId": described["VpcId"],
        "cidrBlock": described["CidrBlock"],
        "availabilityZone": described["AvailabilityZone"],
        "availabilityZoneId": described.get("AvailabilityZoneId", ""),
        "mapPublicIpOnLaunch": bool(described.get("MapPublicIpOnLaunch", False)),
        "ownerId": described["OwnerId"],
    }


def _create_reservation(call: Call) -> str:
    inputs = call.inputs
    made = call.ec2.create_subnet_cidr_reservation(
        SubnetId=inputs["subnetId"],
        Cidr=inputs["cidrBlock"],
        ReservationType=inputs["reservationType"],
        **given(call, Description="description"),
    )
    return str(made["SubnetCidrReservation"]["SubnetCidrReservationId"])


def _reservations(call: Call) -> list[dict[str, Any]]:
    subnet = call.inputs.get("subnetId") or call.old["subnetId"]
    answer = absent_is_none(lambda: call.ec2.get_subnet_cidr_reservations(SubnetId=subnet))
    reservations: list[dict[str, Any]] = answer["SubnetIpv4CidrReservations"] if answer else []
    return reservations


def _reservation(call: Call) -> dict[str, Any] | None:
    return next((item for item in _reservations(call) if item["SubnetCidrReservationId"] == call.id), None)


def _reservation_outputs(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "subnetId": described["SubnetId"],
        "cidrBlock": described["Cidr"],
        "reservationType": described["ReservationType"],
        "ownerId": described.get("OwnerId", ""),
    }
