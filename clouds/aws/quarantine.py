"""Quarantine of a pool's machine on AWS: it keeps running, outside its group and with its own security group.

Fields and errors: docs.aws.amazon.com, EC2 API, ``ModifyNetworkInterfaceAttribute``, ``ModifyInstanceAttribute``,
``TerminateInstances`` and ``DeleteVolume``; Auto Scaling API, ``DetachInstances``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from clouds.aws.live_groups import live_groups
from clouds.aws.names import quarantine_group
from clouds.aws.session import AwsError, aws_errors, shared
from clouds.aws.site import AwsSite
from clouds.base.errors import CloudError
from clouds.base.place import Place
from clouds.base.quarantine import PoolQuarantine, Suspect, suspect_in

GONE = ("InvalidInstanceID.NotFound", "InvalidVolume.NotFound")
"""Error codes for resources that are already deleted (EC2 API, "Error codes")."""
ENDED = ("shutting-down", "terminated")
LOOK_S = 5
"""Seconds between two looks at an instance that is shutting down."""
LOOKS = 120


class AwsPoolQuarantine(PoolQuarantine[AwsSite]):
    """Quarantine of pools' machines in AWS."""

    def consequences(self) -> tuple[str, ...]:
        """Return sentences about the consequences for a machine."""
        return (
            "it keeps running, with its memory and its disks, behind a security group that admits operators' SSH and "
            "nothing else, in and out",
            "its system disk is kept even if it ends; instance storage is lost when it does",
            "it leaves its auto scaling group, which launches another instance",
        )

    def find(self, place: Place[AwsSite], pool: str, node: str) -> Suspect | None:
        """Return the instance whose id is the Node's name; None without one."""
        return suspect_in(live_groups(place, pool), node)

    def isolate(self, place: Place[AwsSite], suspect: Suspect) -> None:
        """Give each of the instance's interfaces only the security group for quarantine.

        Open connections continue until they are idle: EC2 tracks them, and checks its rules only for new ones ("Amazon
        EC2 security group connection tracking"). Rules do not stop queries to the VPC's resolver either (same page).
        """
        instance = _instance(place, suspect.machine)
        if instance is None:
            return
        ec2, group = _ec2(place), _group(place, str(instance["VpcId"]))
        with aws_errors(f"AWS {place.site.region}, the rules of {suspect.machine}"):
            for interface in instance.get("NetworkInterfaces", []):
                ec2.modify_network_interface_attribute(
                    NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=[group]
                )

    def keep(self, place: Place[AwsSite], suspect: Suspect) -> tuple[str, ...]:
        """Make the instance's disks outlive it, since root on the instance can terminate it
        (``InstanceInitiatedShutdownBehavior``)."""
        instance = _instance(place, suspect.machine)
        if instance is None:
            return ()
        disks = {
            str(block_device_mapping["DeviceName"]): str(block_device_mapping["Ebs"]["VolumeId"])
            for block_device_mapping in instance.get("BlockDeviceMappings", [])
        }
        with aws_errors(f"AWS {place.site.region}, the disks of {suspect.machine}"):
            for device in disks:
                mapping = {"DeviceName": device, "Ebs": {"DeleteOnTermination": False}}
                _ec2(place).modify_instance_attribute(InstanceId=suspect.machine, BlockDeviceMappings=[mapping])
        return (suspect.machine, *disks.values())

    def replace(self, place: Place[AwsSite], suspect: Suspect) -> None:
        """Detach the instance. The group keeps its size, so it launches another."""
        scaling = shared().client("autoscaling", place.site.region)
        with aws_errors(f"AWS {place.site.region}, {suspect.group} without {suspect.machine}"):
            there = scaling.describe_auto_scaling_instances(InstanceIds=[suspect.machine])["AutoScalingInstances"]
            if any(instance["AutoScalingGroupName"] == suspect.group for instance in there):
                scaling.detach_instances(
                    AutoScalingGroupName=suspect.group,
                    InstanceIds=[suspect.machine],
                    ShouldDecrementDesiredCapacity=False,
                )

    def release(self, place: Place[AwsSite], kept: tuple[str, ...]) -> None:
        """Terminate the instance, and delete its disks."""
        ec2 = _ec2(place)
        for machine in (id_ for id_ in kept if id_.startswith("i-")):
            with _unless_gone(), aws_errors(f"AWS {place.site.region}, the end of {machine}"):
                ec2.terminate_instances(InstanceIds=[machine])
                waiter = ec2.get_waiter("instance_terminated")
                waiter.wait(InstanceIds=[machine], WaiterConfig={"Delay": LOOK_S, "MaxAttempts": LOOKS})
        for disk in (id_ for id_ in kept if id_.startswith("vol-")):
            with _unless_gone(), aws_errors(f"AWS {place.site.region}, disk {disk}"):
                ec2.delete_volume(VolumeId=disk)


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Ignore errors about resources that are already deleted."""
    try:
        yield
    except AwsError as error:
        if error.code not in GONE:
            raise


def _ec2(place: Place[AwsSite]) -> Any:
    return shared().client("ec2", place.site.region)


def _instance(place: Place[AwsSite], machine: str) -> Mapping[str, Any] | None:
    """Return an instance as EC2 describes it; None when it has terminated. A filter may name an instance that EC2 has
    forgotten."""
    with aws_errors(f"AWS {place.site.region}, {machine}"):
        answer = _ec2(place).describe_instances(Filters=[{"Name": "instance-id", "Values": [machine]}])
    instances: Iterator[Mapping[str, Any]] = (
        instance for each in answer["Reservations"] for instance in each["Instances"]
    )
    return next((instance for instance in instances if instance["State"]["Name"] not in ENDED), None)


def _group(place: Place[AwsSite], vpc: str) -> str:
    """Return the id of the security group for quarantine, which the program makes."""
    wanted = {"group-name": quarantine_group(place), "vpc-id": vpc}
    ask = partial(_ec2(place).describe_security_groups, Filters=[{"Name": k, "Values": [v]} for k, v in wanted.items()])
    with aws_errors(f"AWS {place.site.region}, security group {wanted['group-name']}"):
        groups = ask()["SecurityGroups"]
    if not groups:
        raise CloudError(
            f"AWS {place.site.region} has no security group {wanted['group-name']}: `longhaul up --env "
            f"{place.environment} --only infrastructure` makes it"
        )
    return str(groups[0]["GroupId"])
