"""The machines of an AWS site: moto's real answers, and answers that are none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from clouds.aws import machine_lists
from clouds.aws.machine_lists import GROUP_TAG, AwsMachineList
from clouds.base.errors import CloudError
from clouds.base.machine_lists import Presence
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from tests.support.loopback import Answering, Asked

SITE = NodeSite(name="use1", kind="aws", region="us-east-1")
ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="arn:aws:iam::123456789012:role/lab-node-controller",
    sites={"use1": SITE},
    pools={"cpu": DeclaredPool(name="cpu", site="use1", groups=("lab-cpu",))},
    hosts={},
)
PAGE = (
    b"<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-0</instanceId><tagSet>"
    b"<item><key>aws:autoscaling:groupName</key><value>lab-cpu</value></item></tagSet></item></instancesSet></item>"
    b"</reservationSet><nextToken>more</nextToken></DescribeInstancesResponse>"
)


@pytest.fixture(name="ec2")
def _ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        yield boto3.client("ec2", region_name="us-east-1")


def group(ec2: Any, name: str, *, desired: int) -> None:
    """Make an auto scaling group as components/aws/pools.py does."""
    vpc = ec2.create_vpc(CidrBlock="10.65.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.65.128.0/19")["Subnet"]["SubnetId"]
    template = {"ImageId": "ami-12c6146b", "InstanceType": "m6id.xlarge"}
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=template)
    tags = {"longhaul-environment": "lab", "longhaul-site": "use1", "longhaul-pool": "any"}
    scaling = boto3.client("autoscaling", region_name="us-east-1")
    scaling.create_auto_scaling_group(
        AutoScalingGroupName=name,
        MinSize=0,
        MaxSize=10,
        DesiredCapacity=0,
        VPCZoneIdentifier=subnet,
        LaunchTemplate={"LaunchTemplateName": name},
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
    )
    # One at a time: moto divides pages by reservations, not by instances.
    for size in range(1, desired + 1):
        scaling.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=size)


def at(url: str) -> AwsMachineList:
    """Return the list as the server at ``url`` gives it."""
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.Session(**keys, region_name="us-east-1").client("ec2", endpoint_url=url, config=config)
    return AwsMachineList(ENVIRONMENT, SITE, client=lambda: client)


def test_the_instances_of_the_pools_are_the_site_s_machines(ec2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    group(ec2, "lab-cpu", desired=7)
    group(ec2, "lab-other", desired=2)
    scaling = boto3.client("autoscaling", region_name="us-east-1")
    scaling.set_desired_capacity(AutoScalingGroupName="lab-cpu", DesiredCapacity=6)
    # An instance made by hand with our tags, but in no group.
    tags = [{"Key": "longhaul-environment", "Value": "lab"}, {"Key": "longhaul-site", "Value": "use1"}]
    ec2.run_instances(
        ImageId="ami-12c6146b",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    known = [each for page in ec2.describe_instances()["Reservations"] for each in page["Instances"]]
    own = {each["InstanceId"]: each for each in known if {"Key": GROUP_TAG, "Value": "lab-cpu"} in each["Tags"]}
    assert len(own) == 7
    monkeypatch.setattr(machine_lists, "PAGE", 5)
    pages: list[str] = []
    ec2.meta.events.register("before-parse.ec2.DescribeInstances", lambda **_: pages.append("page"))
    listed = AwsMachineList(ENVIRONMENT, SITE, client=lambda: ec2).everything()
    assert len(pages) == 2
    assert set(listed) == set(own)
    ended = {name for name, machine in listed.items() if machine.presence is Presence.ENDED}
    assert ended == {name for name, each in own.items() if each["State"]["Name"] == "terminated"}
    assert len(ended) == 1
    for name, machine in listed.items():
        assert (machine.name, machine.site, machine.pool) == (name, "use1", "cpu")
        assert machine.addresses == {own[name]["PrivateIpAddress"]}
        assert machine.zone == own[name]["Placement"]["AvailabilityZone"]


def test_some_are_asked_for_by_their_ids(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=3)
    machines = AwsMachineList(ENVIRONMENT, SITE, client=lambda: ec2)
    first = next(iter(machines.everything()))
    assert set(machines.some([first, "i-00000000000000bad", "lab-node-0"])) == {first}
    assert machines.some(["lab-node-0"]) == {}


def test_of_another_environment_nothing_is_seen(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=3)
    other = NodeEnvironment(name="prod", aws_role="", sites={}, pools=ENVIRONMENT.pools, hosts={})
    assert AwsMachineList(other, SITE, client=lambda: ec2).everything() == {}


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (403, b"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>"),
        (503, b"<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>"),
        (200, b""),
        (200, b"not xml"),
        (200, b"<html/>"),
        (200, b"<DescribeInstancesResponse/>"),
        (200, PAGE[:-20]),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_no_empty_list(status: int, content: bytes) -> None:
    with Answering(lambda _: (status, content)) as cloud, pytest.raises(CloudError) as caught:
        at(cloud.url).everything()
    assert "AWS us-east-1, the instances of use1" in str(caught.value)


@pytest.mark.parametrize(("status", "content"), [(500, b""), (200, b"<html/>"), (200, PAGE[:200]), (200, PAGE)])
def test_a_second_page_that_fails_fails_the_list(status: int, content: bytes) -> None:
    """AWS's SDK refuses a page that names itself as the next one."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        return (status, content) if "NextToken" in asked.form else (200, PAGE)

    with Answering(answer) as cloud, pytest.raises(CloudError):
        at(cloud.url).everything()


def test_nobody_answers() -> None:
    with Answering(lambda _: (200, b"")) as cloud:
        gone = cloud.url
    with pytest.raises(CloudError, match="Could not connect"):
        at(gone).everything()
