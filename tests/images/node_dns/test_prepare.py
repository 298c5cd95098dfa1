"""The DNS cache of a node when it starts: its address, its packet filter, and the resolvers of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from node_dns.prepare import HAVE_ADDRESS, HAVE_RULES, RULES, link, resolver

from contract.node_dns import ADDRESS
from tests.support.alone import NEEDS_ROOT
from tests.support.node_network import UPLINK, WORLD, NodeNetwork, node_network

KUBELET_PORT = 10250


@pytest.fixture(scope="module", name="network")
def _network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeNetwork]:
    node, pod = IPv4Address("10.66.32.10"), IPv4Address("10.66.128.3")
    folder = tmp_path_factory.mktemp("nft")
    with node_network(folder, environment_rules="", node=node, pod=pod, world=[], ports=[53, KUBELET_PORT]) as network:
        # Twice: a restart of the unit finds everything as it left it.
        for _ in range(2):
            network.node.run(*HAVE_ADDRESS)
            network.node.run(*HAVE_RULES, stdin=RULES)
        network.world.run("ip", "route", "add", ADDRESS, "via", UPLINK)
        yield network


@NEEDS_ROOT
def test_a_node_and_its_pods_reach_the_cache_and_nobody_else_does(network: NodeNetwork) -> None:
    assert network.pod.reaches(ADDRESS, 53, source=network.pod_address)
    assert network.node.reaches(ADDRESS, 53, source=network.node_address)
    assert network.world.reaches(network.node_address, KUBELET_PORT, source=WORLD)
    assert not network.world.reaches(ADDRESS, 53, source=WORLD)


@NEEDS_ROOT
def test_a_pod_finds_nothing_else_at_the_cache_s_address(network: NodeNetwork) -> None:
    assert network.pod.reaches(network.node_address, KUBELET_PORT, source=network.pod_address)
    assert not network.pod.reaches(ADDRESS, KUBELET_PORT, source=network.pod_address)


def test_the_resolvers_behind_systemd_s_own_are_asked(tmp_path: Path) -> None:
    resolved, plain, linked = (tmp_path / name for name in ("resolved.conf", "resolv.conf", "link"))
    plain.write_text("nameserver 127.0.0.53\n")
    link(linked, resolver(resolved, plain))
    assert linked.readlink() == plain
    resolved.write_text("nameserver 192.0.2.53\n")
    link(linked, resolver(resolved, plain))
    assert linked.read_text() == "nameserver 192.0.2.53\n"
