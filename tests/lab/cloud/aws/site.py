"""A small site on AWS, made through boto3 alone as :mod:`components.aws` makes one."""

from __future__ import annotations

import base64
import functools
import json
import os
import time
from collections.abc import Callable
from typing import Any

from botocore.session import Session

from tests.lab.cloud.conftest import AMI, Live

REGIONS = ("us-east-1", "eu-west-1")
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def client(service: str, region: str = REGIONS[0], **credentials: str) -> Any:
    """Return an SDK's client with the environment's credentials, or others."""
    keys = {name.lower(): os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    return _session().create_client(service, region_name=region, **(credentials or keys))


@functools.cache
def _session() -> Session:
    """Return the SDK's session; it is shared, since AWS's descriptions of its services are large and never change. It
    would keep the first credentials that it finds, so each client gets its own."""
    return Session()


def until(condition: Callable[[], Any], seconds: float = 300.0) -> Any:
    """Look again until the condition is true, and return its value: the cloud lives in a thread of its own."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


class Site:
    """Ids of the site's resources."""

    def __init__(self, live: Live, *, block: str = "127.9.0.0/16", subnet: str = "127.9.64.0/24") -> None:
        self.live = live
        self.ec2, self.scaling, self.iam = client("ec2"), client("autoscaling"), client("iam")
        self.vpc = self.ec2.create_vpc(CidrBlock=block)["Vpc"]["VpcId"]
        self.subnet = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=subnet, AvailabilityZone="us-east-1a")["Subnet"][
            "SubnetId"
        ]
        self.group = self.ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=self.vpc)["GroupId"]
        self.role = self.iam.create_role(RoleName="node", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
        self.profile = self.iam.create_instance_profile(InstanceProfileName="node")["InstanceProfile"]["Arn"]
        self.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")

    def reserve(self, *ranges: str) -> None:
        for range_ in ranges:
            self.ec2.create_subnet_cidr_reservation(SubnetId=self.subnet, Cidr=range_, ReservationType="prefix")

    def template(self, *, user_data: bytes = b"#cloud-config\n", name: str = "pool", **changes: Any) -> str:
        data = {
            "ImageId": AMI,
            "InstanceType": "m6id.xlarge",
            "IamInstanceProfile": {"Arn": self.profile},
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled"},
            "NetworkInterfaces": [{"DeviceIndex": 0, "Ipv4PrefixCount": 1, "Groups": [self.group]}],
            "UserData": base64.b64encode(user_data).decode(),
            **changes,
        }
        made = self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
        return str(made["LaunchTemplate"]["LaunchTemplateId"])

    def pool(self, size: int = 1, *, subnets: str = "", name: str = "pool", **changes: Any) -> None:
        settings: dict[str, Any] = {
            "MinSize": 0,
            "MaxSize": 10,
            "DesiredCapacity": size,
            "VPCZoneIdentifier": subnets or self.subnet,
            "Tags": [{"Key": "longhaul-pool", "Value": name, "PropagateAtLaunch": True}],
            **changes,
        }
        if "LaunchTemplate" not in settings:
            settings["LaunchTemplate"] = {"LaunchTemplateId": self.template(name=name), "Version": "1"}
        self.scaling.create_auto_scaling_group(AutoScalingGroupName=name, **settings)

    def instances(self, *states: str) -> list[dict[str, Any]]:
        wanted = list(states or ("running",))
        answer = self.ec2.describe_instances(Filters=[{"Name": "instance-state-name", "Values": wanted}])
        return [one for reservation in answer["Reservations"] for one in reservation["Instances"]]

    def activities(self, name: str = "pool") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.scaling.describe_scaling_activities(AutoScalingGroupName=name)["Activities"]
        return found
