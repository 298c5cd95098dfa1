"""Refused launches, read from the lab's AWS with the vendor's SDK."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clouds.aws.live_groups import AwsGroup, refused
from clouds.base.errors import CloudError
from clouds.base.refusals import Cause
from tests.lab.cloud.aws.site import REGIONS, Site, client

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(name="group")
def _group(site: Site) -> AwsGroup:
    return AwsGroup("pool", region=REGIONS[0], client=client)


async def limit(site: Site, count: int | None, code: str = "", *, zone: str = "us-east-1a") -> None:
    site.live.cloud.limit_machines("m6id.xlarge", zone, count, code)


@pytest.mark.parametrize(
    ("code", "cause", "words"),
    [
        ("", Cause.CAPACITY, "We currently do not have sufficient m6id.xlarge capacity"),
        ("VcpuLimitExceeded", Cause.QUOTA, "You have requested more vCPU capacity than"),
        ("MaxSpotInstanceCountExceeded", Cause.QUOTA, "Max spot instance count exceeded."),
        ("SpotMaxPriceTooLow", Cause.SPOT, "Your Spot request price of 0.015 is lower"),
        ("UnfulfillableCapacity", Cause.SPOT, "There is no Spot capacity available that matches your request."),
    ],
)
def test_a_launch_is_refused_until_there_is_capacity(
    site: Site, group: AwsGroup, code: str, cause: Cause, words: str
) -> None:
    site.pool(1)
    assert group.refusals() == ()
    site.live.call(limit(site, 0, code))
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=3)
    (found,) = group.refusals()
    assert (found.cause, found.machine) == (cause, "")
    assert found.words.startswith(words)
    assert "Launching" not in found.words
    assert abs(datetime.now(UTC) - found.at) < timedelta(minutes=5)
    site.live.call(limit(site, None))
    assert group.refusals() == ()


def test_a_group_that_goes_on_in_another_zone_is_not_refused(site: Site, group: AwsGroup) -> None:
    other = site.ec2.create_subnet(VpcId=site.vpc, CidrBlock="127.9.96.0/24", AvailabilityZone="us-east-1b")
    site.live.call(limit(site, 0))
    site.pool(2, subnets=f"{site.subnet},{other['Subnet']['SubnetId']}")
    assert "Failed" in {one["StatusCode"] for one in site.activities()}
    assert group.refusals() == ()


def test_a_group_that_is_gone_cannot_be_asked(site: Site) -> None:
    with pytest.raises(CloudError, match="scaling activities"):
        AwsGroup("gone", region=REGIONS[0], client=client).refusals()


def test_errors_that_the_lab_does_not_have_are_named(site: Site) -> None:
    with pytest.raises(ValueError, match="choose one of InsufficientInstanceCapacity, "):
        site.live.call(limit(site, 0, "NoSuchError"))


@pytest.mark.parametrize(
    ("message", "cause", "words"),
    [
        (
            "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more. Launching EC2 instance "
            "failed.",
            Cause.QUOTA,
            "VcpuLimitExceeded - You have requested more.",
        ),
        (
            "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request "
            "configuration. Launching EC2 instance failed.",
            Cause.CAPACITY,
            "UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration.",
        ),
        ("Authentication Failure. Launching EC2 instance failed.", Cause.OTHER, "Authentication Failure."),
    ],
)
def test_messages_that_the_lab_does_not_send(message: str, cause: Cause, words: str) -> None:
    activity = {"Description": "Launching a new EC2 instance.", "StatusCode": "Failed", "StartTime": AT}
    ends = {"Description": "Terminating EC2 instance: i-1", "StatusCode": "Failed", "StartTime": AT}
    (found,) = refused([{**activity, "StatusMessage": message}, ends])
    assert (found.cause, found.words, found.at) == (cause, words, AT)


def launch(status: str, after_s: float = 0.0) -> dict[str, Any]:
    at = AT + timedelta(seconds=after_s)
    return {"Description": "Launching a new EC2 instance: i-1.", "StatusCode": status, "StartTime": at, "EndTime": at}


@pytest.mark.parametrize("status", ["WaitingForInstanceId", "InProgress", "PreInService", "WaitingForSpotInstanceId"])
@pytest.mark.parametrize("after_s", [-60.0, -0.3, 0.3])
def test_nothing_is_refused_while_another_launch_is_under_way(status: str, after_s: float) -> None:
    assert list(refused([launch("Failed"), launch(status, after_s)])) == []


@pytest.mark.parametrize(("status", "count"), [("Cancelled", 1), ("Successful", 0)])
def test_a_launch_that_succeeded_hides_failures_before_it(status: str, count: int) -> None:
    assert len(list(refused([launch(status, 1.0), launch("Failed")]))) == count
    assert len(list(refused([launch("Failed"), launch(status, -1.0)]))) == 1


def test_a_launch_that_hangs_hides_nothing_for_ever() -> None:
    hangs, failed = launch("InProgress"), launch("Failed", 60.0)
    assert list(refused([failed, hangs], now=AT + timedelta(minutes=14))) == []
    assert len(list(refused([failed, hangs], now=AT + timedelta(minutes=15)))) == 1
    assert len(list(refused([launch("Failed", 901.0), failed, hangs]))) == 2, "the activities tell the time, too"


@pytest.mark.parametrize(("code", "cause"), [("", Cause.CAPACITY), ("VcpuLimitExceeded", Cause.QUOTA)])
def test_a_group_in_several_zones_is_given_time_for_the_next_one(site: Site, code: str, cause: Cause) -> None:
    ahead = [timedelta()]
    group = AwsGroup("pool", region=REGIONS[0], client=client, clock=lambda: datetime.now(UTC) + ahead[0])
    other = site.ec2.create_subnet(VpcId=site.vpc, CidrBlock="127.9.96.0/24", AvailabilityZone="us-east-1b")
    for zone in ("us-east-1a", "us-east-1b"):
        site.live.call(limit(site, 0, code, zone=zone))
    site.pool(1, subnets=f"{site.subnet},{other['Subnet']['SubnetId']}")
    group.look()
    assert group.refusals() == ()
    ahead[0] = timedelta(seconds=30)
    assert {one.cause for one in group.refusals()} == {cause}
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=1)
    tries = len(site.activities())
    assert tries >= 4, "each try in a zone is one, so that those before it do not become younger"
    assert tries % 2 == 0, "the group tries again every ten seconds by itself, in both zones"
