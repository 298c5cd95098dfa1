"""Public addresses and leftovers, as the clouds list them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clouds.aws import listing as aws
from clouds.aws.listing import LISTED
from clouds.azure import listing as azure
from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.clouds import nothing_public, remaining_resources
from longhaul.acceptance.target import AcceptanceTarget

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
    """One resource group and its content, tagged as ours unless told otherwise; without ``addresses`` there is no
    group."""

    addresses: list[dict[str, Any]] | None = None
    tags: dict[str, str] = field(default_factory=lambda: dict(OURS))

    def request(self, method: str, url: str, *, body: Any = None, headers: Any = None) -> Answer:
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
    """Lists by method. A filter other than the environment's tag is an error."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __getattr__(self, method: str) -> Any:
        key = next(key for name, key, _ in LISTED if name == method)

        def listed(**given: Any) -> dict[str, Any]:
            assert given == {"Filter" if method == "describe_nat_gateways" else "Filters": FILTER}
            found = self.lists.get(method, [])
            return {key: [{"Instances": found}] if method == "describe_instances" else found}

        return listed


@dataclass
class Session:
    """AWS's session."""

    ec2: FakeEc2

    def client(self, service: str, region: str) -> FakeEc2:
        assert (service, region) == ("ec2", "us-east-1")
        return self.ec2


Stand = Callable[[FakeAzure, FakeEc2], None]


@pytest.fixture(name="stand")
def _stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Function that puts stand-ins in the clouds' places."""

    def stand(manager: FakeAzure, ec2: FakeEc2) -> None:
        monkeypatch.setattr(azure, "ResourceManager", lambda: ResourceManager(manager))
        monkeypatch.setattr(aws, "shared", lambda: Session(ec2))

    return stand


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
def test_gateways_may_be_public(target: AcceptanceTarget, stand: Stand, kind: str) -> None:
    ec2 = FakeEc2(
        {"describe_addresses": [{"PublicIp": "203.0.113.2"}], "describe_nat_gateways": [gateway("available")]}
    )
    stand(FakeAzure([held_by(kind)]), ec2)
    said = nothing_public(target)
    assert sorted(said.split(", ")) == [f"203.0.113.1: {kind} it", "203.0.113.2: nat-1"]


@pytest.mark.parametrize("kind", ["loadBalancers", "networkInterfaces"])
def test_on_azure_nothing_else_may(target: AcceptanceTarget, stand: Stand, kind: str) -> None:
    stand(FakeAzure([held_by(kind)]), FakeEc2())
    with pytest.raises(NotSoError, match=f"203.0.113.1 is held by {kind} it"):
        nothing_public(target)


@pytest.mark.parametrize(
    "lists",
    [
        {"describe_addresses": [{"PublicIp": "203.0.113.2", "InstanceId": "i-1"}]},
        {"describe_addresses": [{"PublicIp": "203.0.113.2", "NetworkInterfaceId": "i-1"}]},
        {"describe_instances": [{"InstanceId": "i-1", "PublicIpAddress": "203.0.113.2"}]},
    ],
)
def test_on_aws_nothing_else_may(
    target: AcceptanceTarget, stand: Stand, lists: dict[str, list[dict[str, Any]]]
) -> None:
    stand(FakeAzure([]), FakeEc2(lists))
    with pytest.raises(NotSoError, match=r"203\.0\.113\.2 is held by i-1"):
        nothing_public(target)


def test_in_a_group_that_is_somebody_elses_only_what_is_ours_is_judged(target: AcceptanceTarget, stand: Stand) -> None:
    theirs = [held_by("loadBalancers"), held_by("natGateways", OURS)]
    stand(FakeAzure(theirs, tags={}), FakeEc2())
    assert "natGateways it" in nothing_public(target)
    ours = FakeAzure([held_by("loadBalancers", OURS)], tags={})
    stand(ours, FakeEc2())
    with pytest.raises(NotSoError, match="loadBalancers"):
        nothing_public(target)


def test_no_address_at_all_shows_nothing(target: AcceptanceTarget, stand: Stand) -> None:
    stand(FakeAzure([]), FakeEc2())
    with pytest.raises(NotApplicableError):
        nothing_public(target)


def test_nothing_is_left(target: AcceptanceTarget, stand: Stand) -> None:
    gone = {
        "describe_instances": [{"InstanceId": "i-1", "State": {"Name": "terminated"}}],
        "describe_nat_gateways": [gateway("deleted")],
    }
    stand(FakeAzure(), FakeEc2(gone))
    assert remaining_resources(target.environment) == []


@pytest.mark.parametrize(("method", "id_"), [(method, id_) for method, _, id_ in LISTED])
def test_what_is_left_is_named(target: AcceptanceTarget, stand: Stand, method: str, id_: str) -> None:
    stand(FakeAzure(), FakeEc2({method: [{id_: "left-1"}]}))
    found = remaining_resources(target.environment)
    assert found == ["left-1 in us-east-1"]


def test_a_group_that_is_left_is_named_and_an_error_is_no_absence(target: AcceptanceTarget, stand: Stand) -> None:
    stand(FakeAzure([]), FakeEc2())
    assert remaining_resources(target.environment) == ["resource group dev-weu"]
    others = FakeAzure([held_by("natGateways"), held_by("natGateways", OURS)], tags={})
    stand(others, FakeEc2())
    assert remaining_resources(target.environment) == ["address one"]

    class Refusing(FakeAzure):
        def request(self, method: str, url: str, *, body: Any = None, headers: Any = None) -> Answer:
            raise AzureError(f"{method} {url}: no", status=403)

    stand(Refusing(), FakeEc2())
    with pytest.raises(AzureError):
        remaining_resources(target.environment)
