"""AWS's spot prices, requested from EC2 in the form of its own service model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from clouds.aws import spot
from clouds.aws.site import AwsSite
from clouds.base.price_requests import Web
from clouds.base.prices import MachineKey, PriceAnswer, PriceRequest
from tests.longhaul.prices.conftest import NOW

KEYS = tuple(
    MachineKey(cloud="aws", region="us-east-1", machine_type=name, spot=True) for name in ("p5.48xlarge", "g5.xlarge")
)
P5, G5 = KEYS

Ask = Callable[[spot.Client | None], PriceAnswer]


@pytest.fixture(name="ec2")
def _ec2() -> Any:
    return boto3.client("ec2", region_name="us-east-1", aws_access_key_id="made-up", aws_secret_access_key="made-up")


@pytest.fixture(name="stub")
def _stub(ec2: Any) -> Iterator[Stubber]:
    with Stubber(ec2) as stub:
        yield stub


def entry(machine_type: str, zone: str, amount: str, *, hours_ago: int = 1) -> dict[str, Any]:
    return {
        "InstanceType": machine_type,
        "AvailabilityZone": f"us-east-1{zone}",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": amount,
        "Timestamp": NOW - timedelta(hours=hours_ago),
    }


def question(**more: Any) -> dict[str, Any]:
    return {
        "InstanceTypes": ["p5.48xlarge", "g5.xlarge"],
        "ProductDescriptions": ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
        "StartTime": NOW,
        "EndTime": NOW,
        **more,
    }


@pytest.fixture(name="ask")
def _ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Function that returns a client's answer for zones a and b; None stands for missing credentials."""
    site = AwsSite(kind="aws", region="us-east-1", zones=("a", "b"), image="ami-0123456789abcdef0")

    def ask(client: spot.Client | None) -> PriceAnswer:
        monkeypatch.setattr(spot, "client", lambda: client)
        (batch,) = spot.batches(KEYS, PriceRequest(now=NOW, web=Web(), url="", sites=(site,)))
        return batch.read(lambda _: None)

    return ask


def test_the_dearest_zone_in_use_counts_by_its_latest_price(ec2: Any, stub: Stubber, ask: Ask) -> None:
    first = [
        entry("p5.48xlarge", "a", "30.1"),
        entry("p5.48xlarge", "b", "31.2"),
        entry("p5.48xlarge", "b", "60.0", hours_ago=9),
    ]
    second = [entry("p5.48xlarge", "f", "90"), entry("g5.xlarge", "f", "0.5")]
    stub.add_response("describe_spot_price_history", {"SpotPriceHistory": first, "NextToken": "more"}, question())
    stub.add_response("describe_spot_price_history", {"SpotPriceHistory": second}, question(NextToken="more"))
    answer = ask(lambda _: ec2)
    assert answer.prices[P5].amount == Decimal("31.2")
    assert answer.prices[P5].source == "ec2:DescribeSpotPriceHistory"
    assert answer.prices[P5].note == "the dearest of the zones a, b, at 2026-03-01 12:00 UTC"
    assert answer.missing == {G5: "ec2:DescribeSpotPriceHistory has no price of it in us-east-1a, us-east-1b"}
    stub.assert_no_pending_responses()


def test_without_credentials_it_says_so(ask: Ask) -> None:
    answer = ask(None)
    assert answer.prices == {}
    assert set(answer.missing) == set(KEYS)
    assert "there are no AWS credentials here" in answer.missing[P5]


def test_a_refusal_is_said(ec2: Any, stub: Stubber, ask: Ask) -> None:
    stub.add_client_error("describe_spot_price_history", "UnauthorizedOperation", "You are not authorized")
    answer = ask(lambda _: ec2)
    assert "ec2:DescribeSpotPriceHistory in us-east-1 failed" in answer.missing[P5]
    assert "You are not authorized" in answer.missing[P5]


def test_credentials_are_looked_for_where_boto_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert spot.client() is None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    found = spot.client()
    assert found is not None
    assert found("eu-west-1").meta.region_name == "eu-west-1"
