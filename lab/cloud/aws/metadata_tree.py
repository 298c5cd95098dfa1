"""What instance metadata says of one instance, as the tree that its paths walk."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.cloud.aws.ec2 import LabEc2

Tree = dict[str, Any]
"""Folders are maps, values texts or functions that make them; None is what this instance does not have."""


def tree_of(ec2: LabEc2, instance: Any, credentials: Callable[[Any], str]) -> Tree:
    """Everything below ``/latest/meta-data``; ``credentials`` makes the document of a role."""
    interface = instance.nics[0]
    region = ec2.region_name
    return {
        "ami-id": instance.image_id,
        "ami-launch-index": "0",
        "hostname": instance.private_dns_name,
        "iam": _iam(ec2, instance, credentials),
        "instance-action": "none",
        "instance-id": instance.id,
        "instance-life-cycle": instance.lifecycle or "on-demand",
        "instance-type": instance.instance_type,
        "local-hostname": instance.private_dns_name,
        "local-ipv4": instance.private_ip,
        "mac": interface.mac_address,
        "network": {"interfaces": {"macs": {interface.mac_address: _interface(ec2, instance, interface)}}},
        "placement": {
            "availability-zone": instance.availability_zone,
            "availability-zone-id": interface.subnet.availability_zone_id,
            "region": region,
        },
        "reservation-id": _reservation(ec2, instance),
        "security-groups": "\n".join(sorted(group.name for group in interface.group_set)),
        "services": {"domain": "amazonaws.com", "partition": "aws"},
        "tags": _tags(ec2, instance),
    }


def _interface(ec2: LabEc2, instance: Any, interface: Any) -> Tree:
    vpc = ec2.get_vpc(interface.subnet.vpc_id)
    ranges = [one["cidr_block"] for one in vpc.cidr_block_association_set]
    prefixes = [one["Ipv4Prefix"] for one in interface.ipv4_prefixes]
    return {
        "device-number": "0",
        "interface-id": interface.id,
        "ipv4-prefix": "\n".join(prefixes) if prefixes else None,
        "local-hostname": instance.private_dns_name,
        "local-ipv4s": "\n".join(one["PrivateIpAddress"] for one in interface.private_ip_addresses),
        "mac": interface.mac_address,
        "owner-id": interface.owner_id,
        "security-group-ids": "\n".join(sorted(group.id for group in interface.group_set)),
        "security-groups": "\n".join(sorted(group.name for group in interface.group_set)),
        "subnet-id": interface.subnet.id,
        "subnet-ipv4-cidr-block": interface.subnet.cidr_block,
        "vpc-id": interface.subnet.vpc_id,
        "vpc-ipv4-cidr-block": ranges[0],
        "vpc-ipv4-cidr-blocks": "\n".join(ranges),
    }


def _iam(ec2: LabEc2, instance: Any, credentials: Callable[[Any], str]) -> Tree | None:
    held = instance.iam_instance_profile
    profile = next((one for one in ec2.account.iam.get_instance_profiles() if held and one.arn == held["Arn"]), None)
    if profile is None:
        return None
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    info = f'{{"Code": "Success", "LastUpdated": "{now}", "InstanceProfileArn": "{profile.arn}", '
    info += f'"InstanceProfileId": "{profile.id}"}}'
    return {
        "info": info,
        "security-credentials": {role.name: lambda role=role: credentials(role) for role in profile.roles},
    }


def _reservation(ec2: LabEc2, instance: Any) -> str | None:
    return next((one.id for one in ec2.reservations.values() if instance in one.instances), None)


def _tags(ec2: LabEc2, instance: Any) -> Tree | None:
    """Only where the template opens them; they are closed by default."""
    if instance.metadata_options.instance_metadata_tags != "enabled":
        return None
    return {"instance": dict(ec2.tags.get(instance.id, {}))}
