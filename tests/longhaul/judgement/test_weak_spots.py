"""Risks of a file: introduced, as before, and refused."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from clouds.base.findings import Severity
from components.model import Environment
from contract.reasons.plan import FileReason
from longhaul.judgement.finding import PlanFinding
from tests.longhaul.judgement.steps import Step, judged, lab, step
from tests.model import make
from tests.support.project import REPOSITORY

LINK = "longhaul:Cluster$longhaul:Links$longhaul:azure:VpnPeer"
OF_GATEWAYS = "longhaul:Cluster$longhaul:Links$longhaul:azure:VpnGateway"
CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
GATEWAY = "azure-native:network:VirtualNetworkGateway"
OF_THE_LAB = {
    FileReason.ONE_GATEWAY_INSTANCE,
    FileReason.ROUTES_STATIC,
    FileReason.GATEWAY_THROUGHPUT,
    FileReason.ONE_GATEWAY,
}


def named(raw: dict[str, Any]) -> None:
    """Name a gateway with two active instances."""
    network = make.azure_existing()["network"]
    gateway = {"id": network.replace("virtualNetworks", "virtualNetworkGateways"), "addresses": ["198.51.100.8"] * 2}
    gateway["addresses"] = ["198.51.100.8", "198.51.100.9"]
    raw["sites"]["weu"] |= {"range": "10.64.0.0/16", "existing": {"network": network, "vpn_gateway": gateway}}


def one_zone(raw: dict[str, Any]) -> None:
    raw["sites"]["weu"]["zones"] = ["1"]


def no_zone(raw: dict[str, Any]) -> None:
    raw["sites"]["far"] = {**make.AZURE, "region": "westus"}


def connection(op: str = "create", name: str = "lab-links-weu-use1-0-0-connection") -> Step:
    return step(op, CONNECTION, name, {}, {}, within=LINK)


def gateway(key: str, before: Any, after: Any) -> Step:
    return step("update", GATEWAY, "lab-links-weu-gateway", {key: before}, {key: after}, within=OF_GATEWAYS)


def reasons_of(found: tuple[PlanFinding, ...], severity: Severity | None = None) -> set[str]:
    return {one.reason for one in found if severity in (None, one.severity)}


def test_a_change_that_touches_no_link_leaves_the_verdict_alone() -> None:
    plan = judged()
    assert (plan.verdict, plan.reasons) == (Severity.OK, ())
    assert reasons_of(plan.risks) == OF_THE_LAB
    assert all(one.why and one.do and one.where for one in plan.risks)


def test_a_new_link_brings_the_risks_of_its_ends() -> None:
    plan = judged(connection())
    assert plan.verdict is Severity.WARNING
    assert reasons_of(plan.reasons) == OF_THE_LAB - {FileReason.ONE_GATEWAY}, "the racks have no part in it"
    assert reasons_of(plan.risks) == {FileReason.ONE_GATEWAY}


def test_a_gateway_that_changes_brings_them_and_tags_do_not() -> None:
    plan = judged(gateway("activeActive", True, False), connection("delete", "lab-links-weu-use1-0-1-connection"))
    assert OF_THE_LAB - {FileReason.ONE_GATEWAY} < reasons_of(plan.reasons)
    assert plan.verdict is Severity.WARNING
    assert reasons_of(judged(gateway("tags", {}, {"team": "ml"})).risks) == OF_THE_LAB


def test_what_azure_does_not_document_is_not_made() -> None:
    plan = judged(connection(), environment=lab(named))
    assert plan.verdict is Severity.PROBLEM
    (reason,) = [one for one in plan.reasons if one.severity is Severity.PROBLEM]
    assert (reason.check, "BGP" in reason.why) == ("links", True)
    before = judged(gateway("sku", "VpnGw2AZ", "VpnGw3AZ"), environment=lab(named))
    assert before.verdict is Severity.WARNING, "it is there already, and nothing of it is made"
    assert FileReason.ACTIVE_WITHOUT_BGP in reasons_of(before.risks)


def test_racks_alone_may_be_at_the_end_of_two_active_instances() -> None:
    def without_aws(raw: dict[str, Any]) -> None:
        named(raw)
        del raw["sites"]["use1"], raw["pools"]["cpu"]

    plan = judged(connection(name="lab-links-weu-rack-gw-0-connection"), environment=lab(without_aws))
    assert reasons_of(plan.reasons) == {FileReason.ROUTES_STATIC, FileReason.ONE_GATEWAY}


def test_the_file_of_before_shows_what_is_new() -> None:
    for change in (one_zone, no_zone):
        assert FileReason.ONE_ZONE in reasons_of(judged(base=lab(), environment=lab(change)).reasons)
    plan = judged(connection(), base=lab(one_zone), environment=lab(one_zone))
    assert (plan.reasons, reasons_of(plan.risks)) == ((), OF_THE_LAB | {FileReason.ONE_ZONE})
    assert judged(connection(), base=lab(), environment=lab(named)).verdict is Severity.PROBLEM
    kept = judged(gateway("sku", "VpnGw2AZ", "VpnGw3AZ"), base=lab(), environment=lab(named))
    assert kept.verdict is Severity.WARNING, "nothing of it is made"
    assert judged(connection(), base=lab(named), environment=lab(named)).verdict is Severity.OK


def test_a_gateway_has_the_connections_of_its_size() -> None:
    def racks(number: int, size: str = "VpnGw2AZ") -> Environment:
        raw = make.minimal()
        raw["sites"]["weu"]["vpn_gateway_size"] = size
        raw["supernet"] = "10.0.0.0/8"
        raw["sites"] |= {
            f"r{index}": {
                "kind": "onprem",
                "gateways": [{"name": f"g{index}", "public_address": f"192.0.2.{index + 1}"}],
            }
            for index in range(number)
        }
        return make.environment(raw)

    assert judged(base=racks(1), environment=racks(30)).verdict is Severity.WARNING
    made = connection(name=f"{make.STACK}-links-weu-r30-g30-connection")
    (refused,) = [one for one in judged(made, base=racks(1), environment=racks(31)).reasons if one.check == "links"]
    assert "31 connections, of 30" in refused.what
    assert judged(base=racks(30), environment=racks(31, "VpnGw4AZ")).verdict is Severity.WARNING


def test_a_gateway_has_the_machines_of_its_size() -> None:
    def cpus(most: int, size: str) -> Environment:
        def change(raw: dict[str, Any]) -> None:
            raw["sites"]["weu"]["vpn_gateway_size"] = size
            raw["pools"] |= {"many": {"site": "weu", "machine_type": "Standard_D8s_v5", "max": most}}

        return lab(change)

    plans = [judged(base=lab(), environment=cpus(most, f"VpnGw{size}AZ")) for most, size in ((1900, 1), (1900, 2))]
    assert [FileReason.GATEWAY_MACHINES in reasons_of(plan.reasons) for plan in plans] == [True, False]


@pytest.mark.parametrize(
    ("machines", "links", "risky"),
    [
        (7, [], False),
        (8, [], True),
        (8, [{"between": ["weu", "use1"], "bandwidth": "1 Gbit/s"}], False),
        (8, [{"between": ["weu", "use1"], "kind": "existing"}], False),
        (8, [{"between": ["weu", "use1"], "kind": "existing", "capacity": "1 Gbit/s"}], True),
    ],
)
def test_many_gpus_behind_slow_links(machines: int, links: list[dict[str, Any]], risky: bool) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["pools"]["h100"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": machines}
        raw["links"] = links

    plan = judged(base=lab(), environment=lab(change))
    assert (FileReason.GPUS_BEHIND_SLOW_LINKS in reasons_of(plan.reasons)) is risky


def test_gpu_pools_without_reserved_capacity() -> None:
    def with_pools(raw: dict[str, Any]) -> None:
        gpus = {"site": "use1", "machine_type": "p5.48xlarge", "max": 2}
        reserved = {**gpus, "zones": ["a"], "reservation": {"id": "cr-0123456789abcdef0"}}
        raw["pools"] |= {"h100": gpus, "spare": {**gpus, "spot": True}, "kept": reserved}

    unreserved = [
        finding
        for finding in judged(base=lab(), environment=lab(with_pools)).reasons
        if finding.reason is FileReason.GPUS_UNRESERVED
    ]
    assert [finding.where for finding in unreserved] == [("pools.h100.reservation",)]
    there = reasons_of(judged(environment=lab(with_pools)).risks)
    assert FileReason.GPUS_UNRESERVED in there, "it is there already"


def test_pools_with_the_same_risk_are_one_reason() -> None:
    def with_pools(raw: dict[str, Any]) -> None:
        raw["pools"] |= {
            name: {"site": "use1", "machine_type": kind, "max": 2}
            for name, kind in (("h100", "p5.48xlarge"), ("a100", "p4d.24xlarge"), ("a10g", "g5.xlarge"))
        }

    reasons = judged(base=lab(), environment=lab(with_pools)).reasons
    (unreserved,) = [finding for finding in reasons if finding.reason is FileReason.GPUS_UNRESERVED]
    assert "of the pools h100, a100 and a10g." in unreserved.what
    assert unreserved.where == ("pools.h100.reservation", "pools.a100.reservation", "pools.a10g.reservation")


def test_more_addresses_than_aws_gives_unasked() -> None:
    def large(raw: dict[str, Any]) -> None:
        raw["pools"]["cpu"] |= {"max": 480, "zones": ["a"]}

    (risk,) = [
        finding
        for finding in judged(base=lab(), environment=lab(large)).reasons
        if finding.reason is FileReason.ADDRESSES_BEYOND_QUOTA
    ]
    assert risk.what.startswith("use1 takes 4 Elastic IPs, up to 3 for a NAT gateway")
    made = step("create", "aws:ec2/eip:Eip", "lab-use1-network-egress-a-1", after={})
    for changes, new in (((), False), ((made,), True)):
        plan = judged(*changes, environment=lab(large))
        assert (FileReason.ADDRESSES_BEYOND_QUOTA in reasons_of(plan.reasons)) is new


def test_hosts_without_a_depot_have_no_dns_cache() -> None:
    """As long as no official release of CoreDNS has a checksum in tools.toml (images/image.toml)."""

    def with_depot(raw: dict[str, Any]) -> None:
        raw["sites"]["rack"]["depot"] = "https://depot.longhaul.internal"

    def bare(raw: dict[str, Any]) -> None:
        raw["sites"]["rack"].pop("depot", None)

    image = tomllib.loads((REPOSITORY / "images" / "image.toml").read_text(encoding="utf-8"))
    assert "coredns" in image["binaries"]["host_with_depot"]
    for change, there in ((with_depot, False), (bare, True)):
        assert (FileReason.NO_DNS_CACHE in reasons_of(judged(environment=lab(change)).risks)) is there


def test_adapters_that_no_device_plugin_gives_to_pods() -> None:
    def with_adapters(raw: dict[str, Any]) -> None:
        raw["pools"]["h100"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 2, "spot": True, "efa": True}

    def with_plugin(raw: dict[str, Any]) -> None:
        with_adapters(raw)
        raw["images"] = {"efa_device_plugin": f"registry.example.com/efa:v1@sha256:{'0' * 64}"}

    assert FileReason.NO_DEVICE_PLUGIN in reasons_of(judged(base=lab(), environment=lab(with_adapters)).reasons)
    assert reasons_of(judged(base=lab(), environment=lab(with_plugin)).reasons) == set()


def test_a_control_plane_without_a_substitute() -> None:
    def alone(raw: dict[str, Any]) -> None:
        raw["control_plane"]["etcd"]["members"] = raw["control_plane"]["api"]["servers"] = 1
        raw["control_plane"]["etcd"].pop("learner", None)

    expected = {FileReason.ONE_MEMBER, FileReason.ONE_API_SERVER}
    assert expected <= reasons_of(judged(base=lab(), environment=lab(alone)).reasons)
    assert expected <= reasons_of(judged(environment=lab(alone)).risks), "they are there already"
    network = step("create", "azure-native:network:VirtualNetwork", "lab-weu-network-vnet", after={})
    made = judged(network, environment=lab(alone))
    assert expected <= reasons_of(made.reasons), reasons_of(made.reasons)
