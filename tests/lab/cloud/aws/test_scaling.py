"""Auto scaling groups through AWS's SDK, without Pulumi."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lab.desired import MachineState
from tests.lab.cloud.aws.site import Site, until
from tests.lab.cloud.conftest import AMI


def size(site: Site, count: int) -> None:
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=count)


def protect(site: Site, instance: str, *, protected: bool = True) -> None:
    site.scaling.set_instance_protection(
        AutoScalingGroupName="pool", InstanceIds=[instance], ProtectedFromScaleIn=protected
    )


def machines(site: Site) -> set[str]:
    return {machine.id for machine in site.live.hypervisor.world.machines}


def test_the_hypervisor_follows_a_groups_size(site: Site) -> None:
    site.pool(1)
    until(lambda: len(machines(site)) == 1)
    size(site, 4)
    until(lambda: len(machines(site)) == 4)
    size(site, 0)
    until(lambda: not machines(site))
    until(lambda: len(site.instances("terminated")) == 4)
    done = Counter(one["Description"].split(" EC2")[0] for one in site.activities())
    assert done == {"Launching a new": 4, "Terminating": 4}


def test_zones_are_filled_evenly(site: Site) -> None:
    other = site.ec2.create_subnet(VpcId=site.vpc, CidrBlock="127.9.96.0/24", AvailabilityZone="us-east-1b")
    site.pool(4, subnets=f"{site.subnet},{other['Subnet']['SubnetId']}")
    assert Counter(one["Placement"]["AvailabilityZone"] for one in site.instances()) == {
        "us-east-1a": 2,
        "us-east-1b": 2,
    }
    size(site, 2)
    assert Counter(one["Placement"]["AvailabilityZone"] for one in site.instances()) == {
        "us-east-1a": 1,
        "us-east-1b": 1,
    }


def test_capacity_can_run_out(site: Site) -> None:
    site.pool(1)
    site.live.call(limit(site, 1))
    size(site, 3)
    assert len(site.instances()) == 2
    failed = site.activities()[0]
    assert failed["StatusCode"] == "Failed"
    assert "We currently do not have sufficient m6id.xlarge capacity" in failed["StatusMessage"]
    group = site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]
    assert group["DesiredCapacity"] == 3, "the wish stays"
    site.live.call(limit(site, None))
    assert len(site.instances()) == 3


def test_a_lab_that_holds_no_more_machines_is_a_cloud_without_capacity(site: Site) -> None:
    site.pool(1)
    site.live.hypervisor.full = True
    size(site, 3)
    assert len(site.instances()) == 1
    assert "do not have sufficient m6id.xlarge capacity" in site.activities()[0]["StatusMessage"]
    site.live.hypervisor.full = False
    site.live.call(limit(site, None))
    assert len(site.instances()) == 3


def test_scarce_types_are_not_to_be_had(site: Site) -> None:
    """Without a reservation nobody counts on a p5; the group is made all the same, and goes on asking."""
    launched = {"LaunchTemplateId": site.template(InstanceType="p5.48xlarge"), "Version": "1"}
    site.pool(2, LaunchTemplate=launched)
    assert site.instances() == []
    failed = site.activities()[0]
    assert (failed["StatusCode"], "sufficient p5.48xlarge capacity" in failed["StatusMessage"]) == ("Failed", True)
    site.live.call(limit(site, 1, kind="p5.48xlarge"))
    assert [one["InstanceType"] for one in site.instances()] == ["p5.48xlarge"]
    site.live.call(limit(site, None, kind="p5.48xlarge"))
    assert len(site.instances()) == 1, "none is scarce again"


async def limit(site: Site, count: int | None, *, kind: str = "m6id.xlarge") -> None:
    site.live.cloud.aws.set_capacity(kind, "us-east-1a", count)


def test_sizes_keep_to_the_limits(site: Site) -> None:
    site.pool(1, MinSize=1, MaxSize=2)
    for wrong, words in ((3, "above max value 2"), (0, "below min value 1")):
        with pytest.raises(ClientError, match=words):
            size(site, wrong)
    assert len(site.instances()) == 1


def test_an_instance_ends_when_its_machine_is_gone(site: Site) -> None:
    site.pool(1)
    until(lambda: machines(site))
    hold = site.live.hypervisor.hold = asyncio.Event()
    size(site, 0)
    until(lambda: not machines(site))
    (ending,) = site.instances("shutting-down")
    group = site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]
    assert [one["LifecycleState"] for one in group["Instances"]] == ["Terminating"]
    assert site.ec2.describe_network_interfaces()["NetworkInterfaces"]
    site.live._loop.call_soon_threadsafe(hold.set)
    until(lambda: [one["InstanceId"] for one in site.instances("terminated")] == [ending["InstanceId"]])
    assert site.ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    assert site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]["Instances"] == []


def test_a_machine_that_switched_itself_off_is_replaced(site: Site) -> None:
    site.pool(1)
    (first,) = until(lambda: machines(site))
    site.live.hypervisor.phases[first] = MachineState(phase="stopped", reason="powered itself off")
    until(lambda: machines(site) and first not in machines(site))
    assert len(site.instances()) == 1


def test_a_terminated_instance_is_replaced(site: Site) -> None:
    site.pool(2)
    first = site.instances()[0]["InstanceId"]
    answer = site.ec2.terminate_instances(InstanceIds=[first])["TerminatingInstances"][0]
    assert answer["PreviousState"]["Name"] == "running"
    until(lambda: len(machines(site)) == 2 and first not in machines(site))
    site.scaling.terminate_instance_in_auto_scaling_group(
        InstanceId=site.instances()[0]["InstanceId"], ShouldDecrementDesiredCapacity=True
    )
    until(lambda: len(machines(site)) == 1)


def versions(site: Site) -> dict[str, str]:
    group = site.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["pool"])["AutoScalingGroups"][0]
    return {one["InstanceId"]: one["LaunchTemplate"]["Version"] for one in group["Instances"]}


def test_an_instance_keeps_the_version_it_was_launched_from(site: Site) -> None:
    template = site.template(name="pool")
    site.pool(2, LaunchTemplate={"LaunchTemplateId": template, "Version": "1"})
    first, second = sorted(versions(site))
    site.ec2.create_launch_template_version(
        LaunchTemplateId=template, LaunchTemplateData={"ImageId": AMI, "InstanceType": "m6id.2xlarge"}
    )
    site.ec2.modify_launch_template(LaunchTemplateId=template, DefaultVersion="2")
    newer = {"LaunchTemplateId": template, "Version": "2"}
    site.scaling.update_auto_scaling_group(AutoScalingGroupName="pool", LaunchTemplate=newer)
    assert versions(site) == {first: "1", second: "1"}
    site.scaling.terminate_instance_in_auto_scaling_group(InstanceId=first, ShouldDecrementDesiredCapacity=False)
    found = until(lambda: first not in versions(site) and versions(site))
    assert found.pop(second) == "1"
    assert list(found.values()) == ["2"]
    group = site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]
    assert (group["DesiredCapacity"], group["LaunchTemplate"]["Version"]) == (2, "2")


def test_a_group_with_instances_is_not_deleted(site: Site) -> None:
    site.pool(1)
    with pytest.raises(ClientError, match="ResourceInUse"):
        site.scaling.delete_auto_scaling_group(AutoScalingGroupName="pool")
    site.scaling.delete_auto_scaling_group(AutoScalingGroupName="pool", ForceDelete=True)
    until(lambda: not machines(site))


def test_a_deleted_group_drains(site: Site) -> None:
    """The group is there until its last instance has ended, and takes no change."""
    site.pool(2)
    until(lambda: len(machines(site)) == 2)
    hold = site.live.hypervisor.hold = asyncio.Event()
    first = site.instances()[0]["InstanceId"]
    protect(site, first)
    site.scaling.delete_auto_scaling_group(AutoScalingGroupName="pool", ForceDelete=True)
    until(lambda: not machines(site))

    def groups() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
        return found

    (group,) = groups()
    assert (group["Status"], group["DesiredCapacity"]) == ("Delete in progress", 0)
    assert [one["LifecycleState"] for one in group["Instances"]] == ["Terminating"] * 2
    with pytest.raises(ClientError, match="pending delete"):
        size(site, 0)
    with pytest.raises(ClientError, match=r"AlreadyExists.*pending delete"):
        site.pool(1, LaunchTemplate={"LaunchTemplateName": "pool", "Version": "1"})
    site.live._loop.call_soon_threadsafe(hold.set)
    until(lambda: not groups())
    assert len(site.instances("terminated")) == 2
    site.pool(1, LaunchTemplate={"LaunchTemplateName": "pool", "Version": "1"})


def test_protected_instances_stay(site: Site) -> None:
    site.pool(2)
    first = site.instances()[0]["InstanceId"]
    protect(site, first)
    size(site, 1)
    assert [one["InstanceId"] for one in site.instances()] == [first]


def test_a_group_that_protects_all_ends_none_until_it_is_lifted(site: Site) -> None:
    """Ends by name and deletions go through all the same."""
    site.pool(3, NewInstancesProtectedFromScaleIn=True)
    first, second, third = (one["InstanceId"] for one in site.instances())
    size(site, 1)
    assert len(site.instances()) == 3
    site.scaling.terminate_instance_in_auto_scaling_group(InstanceId=first, ShouldDecrementDesiredCapacity=False)
    assert {one["InstanceId"] for one in site.instances()} == {second, third}, "two are still one more than wanted"
    with pytest.raises(ClientError, match="is not part of Auto Scaling group"):
        protect(site, first, protected=False)
    protect(site, second, protected=False)
    assert [one["InstanceId"] for one in site.instances()] == [third]


def test_ended_instances_are_forgotten_after_an_hour(site: Site) -> None:
    site.pool(2)
    size(site, 1)
    until(lambda: site.instances("terminated"))
    (ec2,) = [one for one in site.live.call(site.live.cloud.aws.account()).ec2 if one.region_name == "us-east-1"]
    assert not ec2.forget_ended()
    ended = next(one for one in ec2.all_instances() if one.state == "terminated")
    ended.ended_at -= 3601
    assert ec2.forget_ended()
    assert site.instances("terminated") == []
    assert len(site.instances()) == 1


def test_a_detached_instance_goes_on_and_is_replaced(site: Site) -> None:
    site.pool(2)
    first, second = sorted(one["InstanceId"] for one in site.instances())
    detach = {"AutoScalingGroupName": "pool", "ShouldDecrementDesiredCapacity": False}
    with pytest.raises(ClientError, match=r"i-1 is not part of Auto Scaling group pool"):
        site.scaling.detach_instances(InstanceIds=[first, "i-1"], **detach)
    (activity,) = site.scaling.detach_instances(InstanceIds=[first], **detach)["Activities"]
    assert activity["Description"] == f"Detaching EC2 instance: {first}"
    members = {one["InstanceId"] for one in site.scaling.describe_auto_scaling_instances()["AutoScalingInstances"]}
    assert (len(members), first in members, second in members) == (2, False, True)
    (gone,) = [one for one in site.instances() if one["InstanceId"] == first]
    assert "aws:autoscaling:groupName" not in {tag["Key"] for tag in gone["Tags"]}
    size(site, 0)
    until(lambda: [one["InstanceId"] for one in site.instances()] == [first])


def test_a_group_does_not_shrink_below_its_minimum_by_detaching(site: Site) -> None:
    site.pool(1, MinSize=1)
    (only,) = site.instances()
    with pytest.raises(ClientError, match="below min value 1"):
        site.scaling.detach_instances(
            AutoScalingGroupName="pool", InstanceIds=[only["InstanceId"]], ShouldDecrementDesiredCapacity=True
        )


def test_no_instance_ends_below_the_least_size_without_another(site: Site) -> None:
    site.pool(1, MinSize=1)
    (first,) = (one["InstanceId"] for one in site.instances())
    with pytest.raises(ClientError, match="violate group's min size constraint"):
        site.scaling.terminate_instance_in_auto_scaling_group(InstanceId=first, ShouldDecrementDesiredCapacity=True)
    assert [one["InstanceId"] for one in site.instances()] == [first]


def test_several_instances_of_one_group_end_in_one_call(site: Site) -> None:
    site.pool(3)
    first, second, third = (one["InstanceId"] for one in site.instances())
    ends = partial(
        site.scaling.terminate_instance_in_auto_scaling_group,
        AutoScalingGroupName="pool",
        ShouldDecrementDesiredCapacity=True,
    )
    with pytest.raises(ClientError, match=r"Instance Id not found .* i-0"):
        ends(InstanceIds=[first, "i-0"])
    for many in ([first] * 2, [f"i-{number}" for number in range(101)]):
        with pytest.raises(ClientError, match="1 to 100 instances, each once"):
            ends(InstanceIds=many)
    with pytest.raises(ClientError, match="InstanceId or InstanceIds"):
        ends(InstanceId=first, InstanceIds=[first])
    assert len(site.instances()) == 3
    activities = ends(InstanceIds=[first, second])["Activities"]
    assert [one["Description"].split(": ")[1].split(" ")[0] for one in activities] == [second, first]
    until(lambda: [one["InstanceId"] for one in site.instances()] == [third])
    group = site.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["pool"])["AutoScalingGroups"][0]
    assert group["DesiredCapacity"] == 1
    site.scaling.update_auto_scaling_group(AutoScalingGroupName="pool", MinSize=1)
    with pytest.raises(ClientError, match=r"min-size=1, .* desired-size=1"):
        ends(InstanceIds=[third])
