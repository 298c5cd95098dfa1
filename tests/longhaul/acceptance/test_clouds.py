"""Public addresses and what is left, as the clouds list them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from clouds.azure.session import AzureError, ResourceManager
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.clouds import LISTED, Clouds, left, nothing_public
from longhaul.acceptance.subject import Subject

GROUP = "/subscriptions/1/resourceGroups/dev-weu/providers/Microsoft.Network"
OURS = {"longhaul-environment": "dev"}
FILTER = [{"Name": "tag:longhaul-environment", "Values": ["dev"]}]


@dataclass
class Answer:
    content: Any

    def json(self) -> Any:
        return self.content


@dataclass
class FakeAzure:
    """One resource group, ours by its tag unless told otherwise, and what is in it; without that there is no group."""

    addresses: list[dict[str, Any]] | None = None
    tags: dict[str, str] = field(default_factory=lambda: dict(OURS))

    def request(self, method: str, url: str, *, body: Any = None) -> Answer:
        assert method == "GET"
        path = url.partition("?")[0]
        if self.addresses is None and not path.endswith("publicIPAddresses"):
            raise AzureError("no such group", status=404)
        if path.endswith("/resourceGroups/dev-weu"):
            return Answer({"name": "dev-weu", "tags": self.tags})
        assert path.endswith(("/publicIPAddresses", "/resources"))
        return Answer({"value": self.addresses or []})


@dataclass
class FakeEc2:
    """Lists by method; a filter other than by the environment's tag is an error."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __getattr__(self, method: str) -> Any:
        key = next(key for name, key, _ in LISTED if name == method)

        def listed(**given: Any) -> dict[str, Any]:
            assert given == {"Filter" if method == "describe_nat_gateways" else "Filters": FILTER}
            found = self.lists.get(method, [])
            return {key: [{"Instances": found}] if method == "describe_instances" else found}

        return listed


def clouds(azure: FakeAzure, ec2: FakeEc2) -> Clouds:
    return Clouds(azure=ResourceManager(azure), ec2=lambda region: ec2)


def held_by(kind: str, tags: dict[str, str] | None = None) -> dict[str, Any]:
    word = "natGateway" if kind == "natGateways" else "ipConfiguration"
    return {
        "name": "one",
        "type": "address",
        "tags": tags or {},
        "properties": {"ipAddress": "203.0.113.1", word: {"id": f"{GROUP}/{kind}/it/x/y"}},
    }


def gateway(state: str) -> dict[str, Any]:
    return {"NatGatewayId": "nat-1", "State": state, "NatGatewayAddresses": [{"PublicIp": "203.0.113.2"}]}


@pytest.mark.parametrize("kind", ["natGateways", "virtualNetworkGateways", "bastionHosts"])
def test_gateways_may_be_public(subject: Subject, kind: str) -> None:
    ec2 = FakeEc2(
        {"describe_addresses": [{"PublicIp": "203.0.113.2"}], "describe_nat_gateways": [gateway("available")]}
    )
    said = nothing_public(subject, clouds(FakeAzure([held_by(kind)]), ec2))
    assert sorted(said.split(", ")) == [f"203.0.113.1: {kind} it", "203.0.113.2: nat-1"]


@pytest.mark.parametrize("kind", ["loadBalancers", "networkInterfaces"])
def test_on_azure_nothing_else_may(subject: Subject, kind: str) -> None:
    with pytest.raises(NotSoError, match=f"203.0.113.1 is held by {kind} it"):
        nothing_public(subject, clouds(FakeAzure([held_by(kind)]), FakeEc2()))


@pytest.mark.parametrize(
    "lists",
    [
        {"describe_addresses": [{"PublicIp": "203.0.113.2", "InstanceId": "i-1"}]},
        {"describe_addresses": [{"PublicIp": "203.0.113.2", "NetworkInterfaceId": "i-1"}]},
        {"describe_instances": [{"InstanceId": "i-1", "PublicIpAddress": "203.0.113.2"}]},
    ],
)
def test_on_aws_nothing_else_may(subject: Subject, lists: dict[str, list[dict[str, Any]]]) -> None:
    with pytest.raises(NotSoError, match=r"203\.0\.113\.2 is held by i-1"):
        nothing_public(subject, clouds(FakeAzure([]), FakeEc2(lists)))


def test_in_a_group_that_is_somebody_elses_only_what_is_ours_is_judged(subject: Subject) -> None:
    theirs = [held_by("loadBalancers"), held_by("natGateways", OURS)]
    assert "natGateways it" in nothing_public(subject, clouds(FakeAzure(theirs, tags={}), FakeEc2()))
    ours = FakeAzure([held_by("loadBalancers", OURS)], tags={})
    with pytest.raises(NotSoError, match="loadBalancers"):
        nothing_public(subject, clouds(ours, FakeEc2()))


def test_no_address_at_all_shows_nothing(subject: Subject) -> None:
    with pytest.raises(NotApplicableError):
        nothing_public(subject, clouds(FakeAzure([]), FakeEc2()))


def test_nothing_is_left(subject: Subject) -> None:
    gone = {
        "describe_instances": [{"InstanceId": "i-1", "State": {"Name": "terminated"}}],
        "describe_nat_gateways": [gateway("deleted")],
    }
    assert left(subject.environment, clouds(FakeAzure(), FakeEc2(gone))) == []


@pytest.mark.parametrize(("method", "id_"), [(method, id_) for method, _, id_ in LISTED])
def test_what_is_left_is_named(subject: Subject, method: str, id_: str) -> None:
    found = left(subject.environment, clouds(FakeAzure(), FakeEc2({method: [{id_: "left-1"}]})))
    assert found == ["left-1 in us-east-1"]


def test_a_group_that_is_left_is_named_and_an_error_is_no_absence(subject: Subject) -> None:
    assert left(subject.environment, clouds(FakeAzure([]), FakeEc2())) == ["resource group dev-weu"]
    others = FakeAzure([held_by("natGateways"), held_by("natGateways", OURS)], tags={})
    assert left(subject.environment, clouds(others, FakeEc2())) == ["address one"]

    class Refusing(FakeAzure):
        def request(self, method: str, url: str, *, body: Any = None) -> Answer:
            raise AzureError(f"{method} {url}: no", status=403)

    with pytest.raises(AzureError):
        left(subject.environment, clouds(Refusing(), FakeEc2()))
