"""VPCs, subnets and what belongs to them: the plugin's table of network resources."""

from __future__ import annotations

from functools import partial
from typing import Any

from lab.providers.aws_kinds import (
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

DEPENDENT = ("DependencyViolation",)


def network_kinds() -> tuple[Kind, ...]:
    """Everything of this table."""
    return (
        Kind(
            type="aws:ec2/vpc:Vpc",
            inputs="cidrBlock enableDnsSupport enableDnsHostnames instanceTenancy",
            forced="cidrBlock instanceTenancy",
            create=_create_vpc,
            read=_read_vpc,
            update=_set_dns,
            delete=lambda call: call.retried(
                DEPENDENT, lambda: gone_is_fine(lambda: call.ec2.delete_vpc(VpcId=call.id)), f"deleting {call.id}"
            ),
            find=lambda call: same_tags(call, call.ec2.describe_vpcs(Filters=by_name(call))["Vpcs"], "VpcId"),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
            inputs="vpcId cidrBlock",
            forced="vpcId cidrBlock",
            create=lambda call: str(
                call.ec2.associate_vpc_cidr_block(VpcId=call.inputs["vpcId"], CidrBlock=call.inputs["cidrBlock"])[
                    "CidrBlockAssociation"
                ]["AssociationId"]
            ),
            read=_read_range,
            delete=lambda call: gone_is_fine(lambda: call.ec2.disassociate_vpc_cidr_block(AssociationId=call.id)),
            find=_find_range,
        ),
        Kind(
            type="aws:ec2/internetGateway:InternetGateway",
            inputs="vpcId",
            create=_create_internet_gateway,
            read=_read_internet_gateway,
            update=_move_internet_gateway,
            delete=_delete_internet_gateway,
            find=lambda call: same_tags(
                call,
                call.ec2.describe_internet_gateways(Filters=by_name(call))["InternetGateways"],
                "InternetGatewayId",
            ),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/subnet:Subnet",
            inputs="vpcId cidrBlock availabilityZone mapPublicIpOnLaunch",
            forced="vpcId cidrBlock availabilityZone",
            create=_create_subnet,
            read=_read_subnet,
            update=_set_public,
            delete=lambda call: call.retried(
                DEPENDENT,
                lambda: gone_is_fine(lambda: call.ec2.delete_subnet(SubnetId=call.id)),
                f"deleting {call.id}",
            ),
            find=lambda call: same_tags(call, call.ec2.describe_subnets(Filters=by_name(call))["Subnets"], "SubnetId"),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/subnetCidrReservation:SubnetCidrReservation",
            inputs="subnetId cidrBlock reservationType description",
            forced="subnetId cidrBlock reservationType description",
            create=_create_reservation,
            read=_read_reservation,
            delete=lambda call: gone_is_fine(
                lambda: call.ec2.delete_subnet_cidr_reservation(SubnetCidrReservationId=call.id)
            ),
            find=lambda call: [
                item["SubnetCidrReservationId"]
                for item in _reservations(call)
                if item["Cidr"] == call.inputs["cidrBlock"]
            ],
        ),
    )


def _create_vpc(call: Call) -> str:
    tenancy = call.inputs.get("instanceTenancy")
    given = {"InstanceTenancy": tenancy} if tenancy else {}
    made = call.ec2.create_vpc(
        CidrBlock=call.inputs["cidrBlock"], TagSpecifications=specification("vpc", call), **given
    )
    call.id = made["Vpc"]["VpcId"]
    _set_dns(call)
    return call.id


def _set_dns(call: Call) -> None:
    for name, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
        if call.inputs.get(name) is not None and call.changed(name):
            call.ec2.modify_vpc_attribute(VpcId=call.id, **{key: {"Value": bool(call.inputs[name])}})


def _read_vpc(call: Call) -> dict[str, Any] | None:
    found = absent_is_none(lambda: one(call.ec2.describe_vpcs(VpcIds=[call.id]), "Vpcs"))
    if found is None:
        return None
    attributes = {
        name: call.ec2.describe_vpc_attribute(VpcId=call.id, Attribute=name)[key]["Value"]
        for name, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames"))
    }
    return {
        "arn": arn(call, "vpc", found["OwnerId"], call.id),
        "cidrBlock": found["CidrBlock"],
        "instanceTenancy": found.get("InstanceTenancy", "default"),
        "ownerId": found["OwnerId"],
        "dhcpOptionsId": found.get("DhcpOptionsId", ""),
        **attributes,
        **tag_outputs(found),
    }


def _ranges(call: Call, vpc_id: str) -> list[dict[str, Any]]:
    found = absent_is_none(lambda: one(call.ec2.describe_vpcs(VpcIds=[vpc_id]), "Vpcs"))
    associations: list[dict[str, Any]] = found["CidrBlockAssociationSet"] if found else []
    return [item for item in associations if item.get("CidrBlockState", {}).get("State") == "associated"]


def _read_range(call: Call) -> dict[str, Any] | None:
    vpc_id = call.old["vpcId"]
    for item in _ranges(call, vpc_id):
        if item["AssociationId"] == call.id:
            return {"vpcId": vpc_id, "cidrBlock": item["CidrBlock"]}
    return None


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
    held = [item["VpcId"] for item in (_internet_gateway(call) or {}).get("Attachments", [])]
    for vpc_id in held:
        if vpc_id != wanted:
            call.ec2.detach_internet_gateway(InternetGatewayId=call.id, VpcId=vpc_id)
    if wanted and wanted not in held:
        call.ec2.attach_internet_gateway(InternetGatewayId=call.id, VpcId=wanted)


def _internet_gateway(call: Call) -> dict[str, Any] | None:
    return absent_is_none(
        lambda: one(call.ec2.describe_internet_gateways(InternetGatewayIds=[call.id]), "InternetGateways")
    )


def _read_internet_gateway(call: Call) -> dict[str, Any] | None:
    found = _internet_gateway(call)
    if found is None:
        return None
    owner = found.get("OwnerId", "")
    attached = [item["VpcId"] for item in found.get("Attachments", [])]
    return {
        "arn": arn(call, "internet-gateway", owner, call.id),
        "ownerId": owner,
        "vpcId": attached[0] if attached else "",
        **tag_outputs(found),
    }


def _delete_internet_gateway(call: Call) -> None:
    for item in (_internet_gateway(call) or {}).get("Attachments", []):
        detach = partial(call.ec2.detach_internet_gateway, InternetGatewayId=call.id, VpcId=item["VpcId"])
        call.retried(DEPENDENT, detach, f"detaching {call.id}")
    gone_is_fine(lambda: call.ec2.delete_internet_gateway(InternetGatewayId=call.id))


def _create_subnet(call: Call) -> str:
    inputs = call.inputs
    made = call.ec2.create_subnet(
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        TagSpecifications=specification("subnet", call),
        **({"AvailabilityZone": inputs["availabilityZone"]} if inputs.get("availabilityZone") else {}),
    )
    call.id = made["Subnet"]["SubnetId"]
    _set_public(call)
    return call.id


def _set_public(call: Call) -> None:
    wanted = call.inputs.get("mapPublicIpOnLaunch")
    if wanted is not None and call.changed("mapPublicIpOnLaunch"):
        call.ec2.modify_subnet_attribute(SubnetId=call.id, MapPublicIpOnLaunch={"Value": bool(wanted)})


def _read_subnet(call: Call) -> dict[str, Any] | None:
    found = absent_is_none(lambda: one(call.ec2.describe_subnets(SubnetIds=[call.id]), "Subnets"))
    if found is None:
        return None
    return {
        "arn": arn(call, "subnet", found["OwnerId"], call.id),
        "vpcId": found["VpcId"],
        "cidrBlock": found["CidrBlock"],
        "availabilityZone": found["AvailabilityZone"],
        "availabilityZoneId": found.get("AvailabilityZoneId", ""),
        "mapPublicIpOnLaunch": bool(found.get("MapPublicIpOnLaunch", False)),
        "ownerId": found["OwnerId"],
        **tag_outputs(found),
    }


def _create_reservation(call: Call) -> str:
    inputs = call.inputs
    description = {"Description": inputs["description"]} if inputs.get("description") else {}
    made = call.ec2.create_subnet_cidr_reservation(
        SubnetId=inputs["subnetId"],
        Cidr=inputs["cidrBlock"],
        ReservationType=inputs["reservationType"],
        **description,
    )
    return str(made["SubnetCidrReservation"]["SubnetCidrReservationId"])


def _reservations(call: Call) -> list[dict[str, Any]]:
    subnet = call.inputs.get("subnetId") or call.old["subnetId"]
    answer = absent_is_none(lambda: call.ec2.get_subnet_cidr_reservations(SubnetId=subnet))
    found: list[dict[str, Any]] = answer["SubnetIpv4CidrReservations"] if answer else []
    return found


def _read_reservation(call: Call) -> dict[str, Any] | None:
    for item in _reservations(call):
        if item["SubnetCidrReservationId"] == call.id:
            return {
                "subnetId": item["SubnetId"],
                "cidrBlock": item["Cidr"],
                "reservationType": item["ReservationType"],
                "ownerId": item.get("OwnerId", ""),
            }
    return None
