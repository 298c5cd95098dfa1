"""The cluster's DNS servers: how many a site has, and addresses that do not move."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest

from components.model import Environment, plan
from components.model.network.cluster_dns import site_dns_addresses, site_servers, standing_nodes
from tests.model import make


def environment(**pools: Any) -> Environment:
    sites = {"weu": make.AZURE, "use1": make.AWS, "usw2": make.AWS | {"region": "us-west-2"}}
    return make.environment(make.minimal() | {"sites": sites, "pools": pools})


def pool(site: str, **values: Any) -> dict[str, Any]:
    return {"site": site, "machine_type": "m7i.4xlarge", **values}


@pytest.mark.parametrize(
    ("pools", "servers"),
    [
        ({"cpu": pool("use1", min=2, max=9)}, {"use1": 2}),
        ({"cpu": pool("use1", min=1, max=9)}, {"use1": 1}),
        ({"cpu": pool("use1", max=900)}, {}),
        ({"cpu": pool("use1", min=3, max=255)}, {"use1": 2}),
        ({"cpu": pool("use1", min=3, max=100), "more": pool("use1", min=3, max=156)}, {"use1": 3}),
        ({"cpu": pool("use1", min=100, max=900)}, {"use1": 5}),
        ({"cpu": pool("use1", min=2, max=900), "far": pool("usw2", min=1, max=1)}, {"use1": 2, "usw2": 1}),
    ],
)
def test_servers_of_a_site_follow_from_its_nodes(pools: dict[str, Any], servers: dict[str, int]) -> None:
    declared = environment(**pools)
    assert site_servers(declared, standing_nodes(declared)) == servers


def test_an_address_stays_when_sites_come_and_go() -> None:
    supernet = IPv4Network("10.0.0.0/10")
    few, many = (plan(make.with_sites(supernet, [16, *[18] * count])) for count in (3, 40))
    before, after = site_dns_addresses(few), site_dns_addresses(many)
    assert before.items() <= after.items()
    # Who removes a site writes the ranges of those below it (docs/address-plan.md).
    left = {name: many.sites[name].block for name in many.sites if name not in ("s1", "s7")}
    ranges = dict(enumerate(left.values()))
    fewer = site_dns_addresses(plan(make.with_sites(supernet, [18] * len(left), ranges=ranges)))
    assert list(fewer.values()) == [after[name] for name in left]


@pytest.mark.parametrize(
    ("supernet", "sizes", "least"),
    [
        ("10.0.0.0/10", [16] * 60, 256),
        ("10.0.0.0/10", [20] * 239, 256),
        ("10.64.0.0/12", [13, *[18] * 20], 256),
        ("10.64.0.0/16", [20] * 15, 128),
    ],
)
def test_each_site_has_an_address_that_kubernetes_gives_nobody(supernet: str, sizes: list[int], least: int) -> None:
    """``least`` is the number of addresses that Kubernetes takes last for other Services: a sixteenth of them, at most
    256 (kubernetes.io, "Service ClusterIP allocation")."""
    addresses = plan(make.with_sites(IPv4Network(supernet), sizes))
    assert min(addresses.services.num_addresses // 16, 256) == least
    site_addresses = site_dns_addresses(addresses)
    assert len(set(site_addresses.values())) == len(sizes)
    assert max(site_addresses.values()) < addresses.services[least]
    assert {addresses.dns_service, addresses.kubernetes_service}.isdisjoint(site_addresses.values())


def test_an_earlier_site_keeps_its_address_where_two_remainders_are_equal() -> None:
    # Blocks number 16 and 16 + 239, counted in /20.
    ranges = {0: IPv4Network("10.1.0.0/20"), 1: IPv4Network("10.15.240.0/20")}
    addresses = plan(make.with_sites(IPv4Network("10.0.0.0/10"), [20, 20], ranges=ranges))
    site_addresses = site_dns_addresses(addresses)
    assert site_addresses == {"s0": addresses.services[32], "s1": addresses.services[33]}


def test_a_site_beyond_the_last_address_has_none() -> None:
    addresses = plan(make.with_sites(IPv4Network("10.0.0.0/10"), [20] * 240))
    assert "s239" not in site_dns_addresses(addresses)
