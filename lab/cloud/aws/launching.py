"""Launches instances from launch templates, and adds what moto leaves out when an auto scaling group launches them.

moto leaves out metadata options, the instance profile, delegated prefixes, tags of disks and interfaces, and subnets'
limits.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import MetadataOptions

from lab.cloud.aws.capacity_errors import take_capacity
from lab.cloud.aws.hosts import ACCOUNT
from lab.hypervisor.addresses import hardware_address

if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2
    from lab.cloud.aws.owner import Owner

USER_DATA_LIMIT = 16384
"""Limit of user data in bytes, before encoding: docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html."""


def check_user_data(encoded: str) -> None:
    """Raise EC2ClientError for user data that exceeds the limit or is not base64."""
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError as problem:
        raise EC2ClientError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from problem
    if len(raw) > USER_DATA_LIMIT:
        text = f"User data is limited to {USER_DATA_LIMIT} bytes"
        raise EC2ClientError("InvalidParameterValue", text)


def check_template(account: Owner, version: Any) -> None:
    """Raise EC2ClientError for a template from which no instance can be launched."""
    image, kind = version.data.get("ImageId"), version.data.get("InstanceType")
    if not image or not kind:
        raise EC2ClientError("MissingParameter", "The request must contain the parameters ImageId and InstanceType")
    if image not in account.images:
        raise EC2ClientError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")


def launch(ec2: LabEc2, *, template: Any, version: Any, subnet: Any, tags: dict[str, str]) -> Any:
    """Launch one instance into a subnet.

    Raises:
        EC2ClientError: there is no capacity, the subnet is full, or the template is wrong.
    """
    data = version.data
    check_template(ec2.account, version)
    wanted = (data.get("NetworkInterfaces") or [{}])[0]
    kind = data["InstanceType"]
    take_capacity(ec2.account, kind, subnet.availability_zone, look_only=True)
    address = ec2.take_address(subnet)
    for group in wanted.get("Groups", []):
        if ec2.get_security_group_from_id(group) is None:
            raise EC2ClientError("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
    if int(wanted.get("Ipv4PrefixCount") or 0):
        ec2.take_prefix(subnet)  # only a check: without a free prefix the launch fails before anything exists
    reservation = ec2.run_instances(
        data["ImageId"],
        1,
        version.user_data,
        [],
        instance_type=kind,
        is_instance_type_default=False,
        region_name=ec2.region_name,
        placement=subnet.availability_zone,
        subnet_id=subnet.id,
        private_ip=str(address),
        security_group_ids=list(wanted.get("Groups", [])),
        nics=[{**wanted, "DeviceIndex": 0, "DeleteOnTermination": True, "Groups": []}],
        launch_template={"LaunchTemplateId": template.id, "Version": str(version.number)},
        metadata_options=data.get("MetadataOptions") or {},
        ebs_optimized=data.get("EbsOptimized", False),
        instance_initiated_shutdown_behavior=data.get("InstanceInitiatedShutdownBehavior"),
        instance_market_options=(data.get("InstanceMarketOptions") or {}).get("MarketType"),
        tags={"instance": tags, **_tags(data)},
    )
    instance = reservation.instances[0]
    _complete(ec2, instance, wanted=wanted, data=data, subnet=subnet)
    take_capacity(ec2.account, kind, subnet.availability_zone)
    return instance


def _complete(ec2: LabEc2, instance: Any, *, wanted: dict[str, Any], data: dict[str, Any], subnet: Any) -> None:
    instance.metadata_options = MetadataOptions(data.get("MetadataOptions"))
    interface = instance.nics[0]
    interface.mac_address = hardware_address(instance.id, instance.id)
    interface.delete_on_termination = True
    interface.add_tags(_tags(data).get("network-interface", {}))
    interface.ipv4_prefixes = []
    for _ in range(int(wanted.get("Ipv4PrefixCount") or 0)):
        interface.ipv4_prefixes.append({"Ipv4Prefix": str(ec2.take_prefix(subnet))})
    profile = data.get("IamInstanceProfile") or {}
    if profile:
        instance.iam_instance_profile = _profile(ec2.account, profile)


def _profile(account: Owner, given: dict[str, Any]) -> dict[str, str]:
    for profile in account.iam.get_instance_profiles():
        if given.get("Arn") == profile.arn or given.get("Name") == profile.name:
            return {"Arn": profile.arn, "Id": profile.id}
    text = f"Value ({given.get('Arn') or given.get('Name')}) for parameter iamInstanceProfile is invalid."
    raise EC2ClientError("InvalidParameterValue", f"{text} It does not exist in account {ACCOUNT}")


def _tags(data: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        tag_specification["ResourceType"]: {tag["Key"]: tag["Value"] for tag in tag_specification.get("Tags", [])}
        for tag_specification in data.get("TagSpecifications", [])
    }
