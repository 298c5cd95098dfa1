"""Permissions of callers."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from lab.cloud.aws.access import permitted
from tests.lab.cloud.aws.site import client
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
