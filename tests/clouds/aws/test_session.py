"""The shared sessions and clients of AWS's SDK."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from clouds.aws.session import AwsError, aws_errors, prompt, shared
from tests.support.loopback import Answering


def test_clients_are_made_once_for_the_same_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append(shared().client("ec2", "eu-west-1"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({id(client) for client in found}) == 1
    assert found[0].meta.region_name == "eu-west-1"
    assert shared().client("ec2", "us-east-1") is not found[0]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    assert shared().client("ec2", "eu-west-1") is not found[0]


def test_a_write_that_may_not_come_late_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    with Answering(lambda _: (503, b"")) as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
        client = prompt().client("autoscaling", "eu-west-1")
        with pytest.raises(AwsError, match="503"), aws_errors("a size"):
            client.set_desired_capacity(AutoScalingGroupName="g", DesiredCapacity=1)
    assert len(aws.asked) == 1


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Describe")


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (refusal("UnauthorizedOperation"), {"denied"}),
        (refusal("ExpiredToken"), {"stale"}),
        (refusal("ResourceContentionFault"), {"passing"}),
        (refusal("InvalidVpcID.NotFound"), set()),
        (EndpointConnectionError(endpoint_url="https://ec2"), {"passing"}),
        (NoCredentialsError(), set()),
        (ValueError("Invalid endpoint"), set()),
    ],
)
def test_an_error_says_what_was_asked_and_what_kind_it_is(error: Exception, kinds: set[str]) -> None:
    with pytest.raises(AwsError) as raised, aws_errors("AWS us-east-1"):
        raise error
    assert str(raised.value) == f"AWS us-east-1: {error}"
    assert {kind for kind in ("denied", "stale", "passing") if getattr(raised.value, kind)} == kinds
