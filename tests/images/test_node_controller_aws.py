"""The machines of an AWS site: moto's real answers, and signatures as botocore makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import boto3
import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from controller.aws import GROUP_TAG, AwsMachines
from controller.identity import EARLY_S, AssumedRole, ManagedIdentity, PassingCredentials
from controller.inventory import SourceError, State
from machine import sigv4
from machine.cloud_token import AUDIENCE, answer
from moto import mock_aws

from contract.documents.node_controller import NodeEnvironment, NodePool, NodeSite
from tests.images.fakes import IDENTITY, resource_id
from tests.support.loopback import Answering, Asked

ROLE = "arn:aws:iam::123456789012:role/lab-node-controller"
SITE = NodeSite(name="use1", kind="aws", region="us-east-1")
ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role=ROLE,
    sites={"use1": SITE},
    pools={"cpu": NodePool(name="cpu", site="use1", group="lab-cpu")},
    hosts={},
)
CREDENTIALS = PassingCredentials(key="AKIDEXAMPLE", secret="secret", session="session", until=4e9)


class Held:
    """A role with its credentials."""

    def credentials(self) -> PassingCredentials:
        return CREDENTIALS


def bodies(client: Any, event: str) -> list[bytes]:
    """Return the bodies of the service's answers, as they were sent."""
    kept: list[bytes] = []
    client.meta.events.register(f"before-parse.{event}", lambda response_dict, **_: kept.append(response_dict["body"]))
    return kept


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


def replay(ec2: Any) -> Callable[[Asked], tuple[int, bytes]]:
    """Return a function that answers as moto does, for the same filters and page."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        form = asked.form
        filters: list[dict[str, Any]] = []
        number = 1
        while f"Filter.{number}.Name" in form:
            prefix = f"Filter.{number}.Value."
            values = [value for key, value in form.items() if key.startswith(prefix)]
            filters.append({"Name": form[f"Filter.{number}.Name"], "Values": values})
            number += 1
        kept = bodies(ec2, "ec2.DescribeInstances")
        more = {"NextToken": form["NextToken"]} if "NextToken" in form else {}
        ec2.describe_instances(Filters=filters, MaxResults=5, **more)
        return 200, kept[-1]

    return answer


def machines(url: str) -> AwsMachines:
    return AwsMachines(ENVIRONMENT, SITE, role=Held(), endpoint=f"{url}/")  # type: ignore[arg-type]


def test_the_instances_of_the_pools_are_the_site_s_machines(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=7)
    group(ec2, "lab-other", desired=2)
    scaling = boto3.client("autoscaling", region_name="us-east-1")
    scaling.set_desired_capacity(AutoScalingGroupName="lab-cpu", DesiredCapacity=6)
    # An instance made by hand with our tags, but in no group.
    ec2.run_instances(
        ImageId="ami-12c6146b",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": "longhaul-environment", "Value": "lab"}, {"Key": "longhaul-site", "Value": "use1"}],
            }
        ],
    )
    known = [each for page in ec2.describe_instances()["Reservations"] for each in page["Instances"]]
    own = {each["InstanceId"]: each for each in known if {"Key": GROUP_TAG, "Value": "lab-cpu"} in each["Tags"]}
    assert len(own) == 7
    with Answering(replay(ec2)) as cloud:
        found = machines(cloud.url).everything()
        # Five instances in a page.
        assert len(cloud.asked) == 2
    assert set(found) == set(own)
    ended = {name for name, machine in found.items() if machine.state is State.ENDED}
    assert ended == {name for name, each in own.items() if each["State"]["Name"] == "terminated"}
    assert len(ended) == 1
    for name, machine in found.items():
        assert (machine.name, machine.site, machine.pool) == (name, "use1", "cpu")
        assert machine.addresses == {own[name]["PrivateIpAddress"]}
        assert machine.zone == own[name]["Placement"]["AvailabilityZone"]


def test_some_are_asked_for_by_their_ids(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=3)
    with Answering(replay(ec2)) as cloud:
        first = next(iter(machines(cloud.url).everything()))
        assert set(machines(cloud.url).some([first, "i-00000000000000bad", "lab-node-0"])) == {first}
        assert machines(cloud.url).some(["lab-node-0"]) == {}


def test_of_another_environment_nothing_is_seen(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=3)
    other = AwsMachines(
        NodeEnvironment(name="prod", aws_role=ROLE, sites={}, pools=ENVIRONMENT.pools, hosts={}),
        SITE,
        role=Held(),  # type: ignore[arg-type]
        endpoint="",
    )
    with Answering(replay(ec2)) as cloud:
        other._url = f"{cloud.url}/"
        assert other.everything() == {}


def test_requests_are_signed_as_botocore_signs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 21, 16, 9, 38, tzinfo=UTC)
    url, body = "https://ec2.us-east-1.amazonaws.com/", b"Action=DescribeInstances&Version=2016-11-15"
    ours = sigv4.headers(url, body, region="us-east-1", service="ec2", credentials=CREDENTIALS, now=now)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: now.replace(tzinfo=None))
    request = AWSRequest(method="POST", url=url, data=body, headers={"Content-Type": sigv4.CONTENT})
    theirs = BotoCredentials(CREDENTIALS.key, CREDENTIALS.secret, CREDENTIALS.session)
    botocore.auth.SigV4Auth(theirs, "ec2", "us-east-1").add_auth(request)
    assert ours["Authorization"] == request.headers["Authorization"]
    assert ours["X-Amz-Date"] == request.headers["X-Amz-Date"]


@pytest.mark.parametrize(
    ("status", "content", "says"),
    [
        (403, b"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>", "403 "),
        (503, b"<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>", "Limit"),
        (200, b"not xml", "not XML"),
        (200, b"<html/>", "not one of EC2"),
        (200, b"<DescribeInstancesResponse/>", "not one of EC2"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_no_empty_list(status: int, content: bytes, says: str) -> None:
    with Answering(lambda _: (status, content)) as cloud, pytest.raises(SourceError, match=says) as caught:
        machines(cloud.url).everything()
    assert "DescribeInstances in us-east-1" in str(caught.value)


def test_a_second_page_that_fails_fails_the_listing(ec2: Any) -> None:
    group(ec2, "lab-cpu", desired=7)
    good = replay(ec2)

    def answer(asked: Asked) -> tuple[int, bytes]:
        return (500, b"") if "NextToken" in asked.form else good(asked)

    with Answering(answer) as cloud, pytest.raises(SourceError):
        machines(cloud.url).everything()


def test_nobody_answers() -> None:
    with Answering(lambda _: (200, b"")) as cloud:
        gone = cloud.url
    with pytest.raises(SourceError, match="refused"):
        machines(gone).everything()


# Credentials: the machine's token is exchanged for a session of the role.


class Clouds:
    """Metadata service and STS, with the answers of the real ones."""

    def __init__(self, ec2: Any) -> None:
        sts = boto3.client("sts", region_name="us-east-1")
        kept = bodies(sts, "sts.AssumeRoleWithWebIdentity")
        sts.assume_role_with_web_identity(RoleArn=ROLE, RoleSessionName="lab-api-0", WebIdentityToken="abcd.efgh.ijkl")
        self.session, self.refuse, self.until = kept[0], 0, 5000.0

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        if (told := resource_id(asked)) is not None:
            return told
        if asked.path == "/metadata/identity/oauth2/token":
            token = {"access_token": "abcd.efgh.ijkl", "expires_on": str(int(self.until)), "token_type": "Bearer"}
            return 200, json.dumps(token).encode()
        return (self.refuse, b"<Code>AccessDenied</Code>") if self.refuse else (200, self.session)


@pytest.fixture(name="clouds")
def _clouds(ec2: Any) -> Clouds:
    return Clouds(ec2)


def test_a_role_is_taken_with_the_machine_s_token_and_held(clouds: Clouds) -> None:
    now = 1000.0
    with Answering(clouds.answer) as cloud:
        identity = ManagedIdentity(ask=partial(answer, metadata=cloud.url), wall=lambda: now)
        role = AssumedRole(
            role=ROLE,
            region="us-east-1",
            session_name="lab-api-0",
            identity=identity,
            endpoint=f"{cloud.url}/",
            wall=lambda: now,
        )
        first = role.credentials()
        assert role.credentials() is first
        _, metadata, sts = cloud.asked
        assert metadata.headers["metadata"] == "true"
        assert (metadata.query["resource"], metadata.query["msi_res_id"]) == ([AUDIENCE], [IDENTITY])
        assert "authorization" not in sts.headers
        assert sts.form["RoleArn"] == ROLE
        assert sts.form["RoleSessionName"] == "lab-api-0"
        assert sts.form["WebIdentityToken"] == "abcd.efgh.ijkl"
        assert first.key
        assert first.secret not in repr(first)
        # The token is near its end, and the session is at its end: both are fetched anew.
        now = first.until - EARLY_S + 1
        clouds.until = now + 3600
        role.credentials()
        assert [asked.path for asked in cloud.asked[4:]] == ["/metadata/identity/oauth2/token", "/"]


def test_a_refused_role_is_said_without_the_token(clouds: Clouds) -> None:
    clouds.refuse = 403
    with Answering(clouds.answer) as cloud:
        identity = ManagedIdentity(ask=partial(answer, metadata=cloud.url), wall=lambda: 1000.0)
        role = AssumedRole(role=ROLE, region="us-east-1", session_name="a", identity=identity, endpoint=f"{cloud.url}/")
        with pytest.raises(SourceError, match=f"taking the role {ROLE}: 403") as caught:
            role.credentials()
    assert "abcd" not in str(caught.value)
