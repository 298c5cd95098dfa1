"""Instance metadata, as an instance requests it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from tests.lab.cloud.aws.site import Site, client, until
from tests.lab.cloud.conftest import Source


class Machine:
    """A machine of the site with its connection to the metadata service."""

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        (self.instance,) = site.instances()
        self.url = f"http://127.0.0.1:{port}/latest"
        self.session = requests.Session()
        self.session.mount("http://", Source(self.instance["PrivateIpAddress"]))

    def token(self, seconds: str = "60") -> requests.Response:
        headers = {"X-aws-ec2-metadata-token-ttl-seconds": seconds}
        return self.session.put(f"{self.url}/api/token", headers=headers, timeout=10)

    def get(self, path: str, **headers: str) -> requests.Response:
        given = {"X-aws-ec2-metadata-token": self.token().text, **headers}
        return self.session.get(f"{self.url}/{path}", headers=given, timeout=10)


@pytest.fixture
def machine(site: Site) -> Iterator[Machine]:
    site.pool(1)
    app = site.live.cloud.metadata_app(site.vpc)
    runner = site.live.call(site.live._listen("vpc", app, tls=False))
    yield Machine(site, site.live.ports["vpc"])
    site.live.call(runner.cleanup())


def test_tokens_are_required(machine: Machine) -> None:
    assert machine.session.get(f"{machine.url}/meta-data/", timeout=10).status_code == 401
    assert machine.token("0").status_code == 400
    assert machine.token("21601").status_code == 400
    assert machine.get("meta-data/instance-id").text == machine.instance["InstanceId"]
    forwarded = {"X-Forwarded-For": "1.2.3.4"}
    assert machine.get("meta-data/instance-id", **forwarded).status_code == 403
    assert machine.get("meta-data/instance-id", **{"X-aws-ec2-metadata-token": "other"}).status_code == 401


def test_a_machine_learns_its_place_and_its_pods(machine: Machine) -> None:
    mac = machine.get("meta-data/mac").text
    assert machine.get("meta-data/network/interfaces/macs").text == f"{mac}/"
    own = f"meta-data/network/interfaces/macs/{mac}"
    expected = {
        f"{own}/ipv4-prefix": "127.9.64.16/28",
        f"{own}/local-ipv4s": "127.9.64.4",
        f"{own}/subnet-ipv4-cidr-block": "127.9.64.0/24",
        f"{own}/vpc-ipv4-cidr-block": "127.9.0.0/16",
        f"{own}/device-number": "0",
        "meta-data/placement/region": "us-east-1",
        "meta-data/placement/availability-zone": "us-east-1a",
        "meta-data/local-ipv4": "127.9.64.4",
        "meta-data/instance-type": "m6id.xlarge",
        "user-data": "#cloud-config\n",
    }
    assert {path: machine.get(path).text for path in expected} == expected
    document = machine.get("dynamic/instance-identity/document").json()
    assert (document["instanceId"], document["region"]) == (machine.instance["InstanceId"], "us-east-1")
    for missing in ("meta-data/tags/instance", "meta-data/public-ipv4", "other"):
        assert machine.get(missing).status_code == 404


def test_the_roles_credentials_are_real(machine: Machine) -> None:
    role = machine.get("meta-data/iam/security-credentials/").text
    assert role == "node"
    given = machine.get(f"meta-data/iam/security-credentials/{role}").json()
    again = machine.get(f"meta-data/iam/security-credentials/{role}").json()
    assert given == again, "the same until they are nearly over"
    credentials: dict[str, Any] = {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["Token"],
    }
    who = client("sts", **credentials).get_caller_identity()["Arn"]
    assert who == f"arn:aws:sts::123456789012:assumed-role/node/{machine.instance['InstanceId']}"
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        client("ec2", **credentials).describe_instances()
    policy = {"Statement": [{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}]}
    machine.site.iam.put_role_policy(
        RoleName="node", PolicyName="look", PolicyDocument=json.dumps({"Version": "2012-10-17", **policy})
    )
    assert client("ec2", **credentials).describe_instances()["Reservations"]


def test_who_is_no_machine_is_told_nothing(machine: Machine) -> None:
    stranger = requests.Session()
    stranger.mount("http://", Source("127.9.64.99"))
    headers = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    assert stranger.put(f"{machine.url}/api/token", headers=headers, timeout=10).status_code == 404
    theirs = {"X-aws-ec2-metadata-token": machine.token().text}
    assert stranger.get(f"{machine.url}/meta-data/", headers=theirs, timeout=10).status_code == 404


@pytest.fixture
def spot(site: Site) -> Iterator[Machine]:
    launched = {"LaunchTemplateId": site.template(InstanceMarketOptions={"MarketType": "spot"}), "Version": "1"}
    site.pool(1, LaunchTemplate=launched)
    app = site.live.cloud.metadata_app(site.vpc)
    runner = site.live.call(site.live._listen("vpc", app, tls=False))
    yield Machine(site, site.live.ports["vpc"])
    site.live.call(runner.cleanup())


async def warn(site: Site, instance: str, notice: str, within_s: float | None = None) -> None:
    site.live.cloud.aws.warn_spot(instance, notice, within_s=within_s)


def test_a_spot_instance_is_told_before_it_is_taken_back(spot: Machine) -> None:
    instance, site = spot.instance["InstanceId"], spot.site
    action, rebalance = "meta-data/spot/instance-action", "meta-data/events/recommendations/rebalance"
    assert spot.get("meta-data/instance-life-cycle").text == "spot"
    assert {spot.get(path).status_code for path in (action, rebalance)} == {404}
    site.live.call(warn(site, instance, "rebalance"))
    assert datetime.fromisoformat(spot.get(rebalance).json()["noticeTime"]) <= datetime.now(UTC)
    assert len(site.instances()) == 1, "without capacity rebalancing it is left to the node"
    site.live.call(warn(site, instance, "interruption"))
    told = spot.get(action).json()
    left = datetime.fromisoformat(told["time"]) - datetime.now(UTC)
    assert (told["action"], timedelta(seconds=60) < left <= timedelta(seconds=120)) == ("terminate", True)
    site.live.call(warn(site, instance, "interruption", within_s=0.0))
    until(lambda: [one["InstanceId"] for one in site.instances("terminated")] == [instance])
    (other,) = site.instances()
    assert other["InstanceId"] != instance


def test_a_group_that_rebalances_replaces_what_is_recommended(spot: Machine) -> None:
    instance, site = spot.instance["InstanceId"], spot.site
    site.scaling.update_auto_scaling_group(AutoScalingGroupName="pool", CapacityRebalance=True)
    site.live.call(warn(site, instance, "rebalance"))
    until(lambda: instance not in [one["InstanceId"] for one in site.instances()])
    assert len(site.instances()) == 1


def test_only_spot_instances_are_taken_back(machine: Machine) -> None:
    with pytest.raises(LookupError, match="no spot instance"):
        machine.site.live.call(warn(machine.site, machine.instance["InstanceId"], "interruption"))
