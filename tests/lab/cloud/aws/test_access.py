"""Permissions of callers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from components.aws.autoscaler_access import policy
from components.model.autoscaler.section import Autoscaler
from components.model.sites.cloud_names import pool_groups
from lab.cloud.aws.access import permitted
from lab.cloud.aws.targets import ActionTarget
from longhaul.cli.examples import example
from tests.lab.cloud.aws.site import Site, client, until
from tests.lab.cloud.aws.test_web_identity import prepare, session
from tests.lab.cloud.conftest import Live


def allow(*actions: str, resource: Any = "*", effect: str = "Allow", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": list(actions), "Resource": resource, **more}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([], False),
        ([allow("ec2:DescribeInstances")], True),
        ([allow("ec2:describe*")], True),
        ([allow("ec2:Run*", "iam:*")], False),
        ([allow("ec2:*", resource="arn:aws:ec2:*:*:vpc/x")], False),
        ([allow("ec2:*", Condition={"Bool": {"aws:SecureTransport": "true"}})], False),
        ([allow("*"), allow("ec2:DescribeInstances", effect="Deny", resource="arn:x")], False),
        ([{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}], True),
        ([{"Effect": "Allow", "NotAction": "ec2:*", "Resource": "*"}], False),
    ],
)
def test_policies(statements: list[dict[str, Any]], expected: bool) -> None:
    assert permitted([{"Statement": one} for one in statements], "ec2:DescribeInstances") is expected


GROUP = "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0:autoScalingGroupName/pool"
ITS = "arn:aws:autoscaling:us-east-1:*:autoScalingGroup:*:autoScalingGroupName/pool"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ({"resource": ITS}, True),
        ({"resource": [ITS.replace("pool", "other"), ITS]}, True),
        ({"resource": ITS.replace("pool", "other")}, False),
        ({"resource": ITS, "Condition": {"StringEquals": {"aws:ResourceTag/env": "test"}}}, True),
        ({"resource": ITS, "Condition": {"StringEquals": {"aws:ResourceTag/env": "prod"}}}, False),
        ({"resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/none": "test"}}}, False),
        ({"resource": ITS, "Condition": {"ArnLike": {"aws:ResourceTag/env": "test"}}}, False),
        ({"resource": ITS, "Condition": {"StringEquals": {"aws:PrincipalTag/env": "test"}}}, False),
    ],
)
def test_policies_of_named_resources(statement: dict[str, Any], expected: bool) -> None:
    target = ActionTarget(arn=GROUP, tags={"env": "test"})
    policies = [{"Statement": allow("autoscaling:SetDesiredCapacity", **statement)}]
    assert permitted(policies, "autoscaling:SetDesiredCapacity", target) is expected


def test_the_autoscaler_s_role_sizes_its_environment_s_groups_alone(aws: Live, site: Site) -> None:
    environment = example("prod").model_copy(update={"autoscaler": Autoscaler()})
    (own,) = [group.name for group in pool_groups(environment, "cpu")]
    tagged = {"Key": "longhaul-environment", "Value": environment.name, "PropagateAtLaunch": True}
    site.pool(0, name=own, Tags=[tagged])
    site.pool(0, name="another", Tags=[tagged])
    prepare(json.loads(policy(environment)))
    scaling = client("autoscaling", **session(aws))
    scaling.set_desired_capacity(AutoScalingGroupName=own, DesiredCapacity=1)
    (machine,) = until(lambda: site.instances("pending", "running"))
    ending = {"InstanceIds": [machine["InstanceId"]], "ShouldDecrementDesiredCapacity": True}
    scaling.terminate_instance_in_auto_scaling_group(AutoScalingGroupName=own, **ending)
    with pytest.raises(ClientError, match="AccessDenied"):
        scaling.terminate_instance_in_auto_scaling_group(AutoScalingGroupName="another", **ending)
    with pytest.raises(ClientError, match="AccessDenied"):
        scaling.set_desired_capacity(AutoScalingGroupName="another", DesiredCapacity=1)
    # In another region a group may have the same name, and not the tag.
    tags = [{"ResourceId": own, "ResourceType": "auto-scaling-group", **tagged, "Value": "other"}]
    site.scaling.create_or_update_tags(Tags=tags)
    with pytest.raises(ClientError, match="AccessDenied"):
        scaling.set_desired_capacity(AutoScalingGroupName=own, DesiredCapacity=1)


def test_who_is_not_known_is_refused(aws: Live) -> None:
    assert client("sts").get_caller_identity()["Arn"] == "arn:aws:iam::123456789012:user/operator"
    stranger = {"aws_access_key_id": "AKIAAAAAAAAAAAAAAAAA", "aws_secret_access_key": "x"}
    environment = aws.cloud.operator_environment()
    forger = {"aws_access_key_id": environment["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": "x"}
    for credentials in (stranger, forger):
        with pytest.raises(ClientError, match="AuthFailure"):
            client("ec2", **credentials).describe_vpcs()
    with pytest.raises(ClientError, match="InvalidClientTokenId"):
        client("sts", **stranger).get_caller_identity()
    unsigned = requests.post(
        "https://iam.amazonaws.com/", data={"Action": "ListRoles"}, timeout=10, verify=str(aws.cloud.ca_certificate)
    )
    assert (unsigned.status_code, "MissingAuthenticationToken" in unsigned.text) == (403, True)


def test_names_that_the_lab_does_not_have(aws: Live) -> None:
    for name in ("s3.amazonaws.com", "ec2.ap-south-1.amazonaws.com"):
        answer = requests.get(
            "https://iam.amazonaws.com/", headers={"Host": name}, timeout=10, verify=str(aws.cloud.ca_certificate)
        )
        assert answer.status_code == 421
        assert name in answer.text
