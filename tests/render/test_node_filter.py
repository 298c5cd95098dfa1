"""A node's packet filter, in network namespaces: what reaches the node's SSH, and what of its pods
leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from components.model import AddressPlan, Environment, control_machines, load, plan
from components.model.hosts.places import gateway_places, host_places
from components.model.hosts.section import Host
from components.model.network.api_address import api_address
from components.render.node_filter import filter_file
from contract.ports import JOIN_PORT
from tests.support.alone import NEEDS_ROOT
from tests.support.hosts import STACKS
from tests.support.node_network import RULES, UPLINK, WORLD, NodeNetwork, heard, node_network

pytestmark = NEEDS_ROOT

SITE = "rack"
JUMP = "10.66.0.200"


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    lab = load(STACKS / "Pulumi.lab.yaml")
    access = lab.access.model_copy(update={"operators_inside": (IPv4Network(JUMP),)})
    lost = Host(name="lost", site=SITE, quarantined=True)
    return lab.model_copy(update={"access": access, "hosts": (*lab.hosts, lost)})


@pytest.fixture(scope="module", name="addresses")
def _addresses(environment: Environment) -> AddressPlan:
    return plan(environment)


@pytest.fixture(scope="module", name="elsewhere")
def _elsewhere(environment: Environment, addresses: AddressPlan) -> dict[str, str]:
    """Addresses of the world by who has them."""
    lost = next(place for place in host_places(environment, addresses) if place.name == "lost")
    (gateway,) = (place.address for place in gateway_places(environment, addresses) if place.site == SITE)
    return {
        "an operator": str(addresses.operators[1]),
        "a jump host": JUMP,
        "the site's gateway": str(gateway),
        "a pod elsewhere": str(addresses.sites["use1"].pods[9]),
        "a node elsewhere": str(addresses.sites[SITE].node_address(7)),
        "the internet": "198.51.100.7",
        "a host in quarantine": str(lost.address),
        "a pod of it": str(lost.pods[3]),
        "the API": str(api_address(environment, addresses)),
        "an API server": next(
            str(one.address) for one in control_machines(environment, addresses) if one.role == "api"
        ),
    }


@pytest.fixture(scope="module", name="network")
def _network(
    environment: Environment,
    addresses: AddressPlan,
    elsewhere: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[NodeNetwork]:
    host = next(place for place in host_places(environment, addresses) if place.site == SITE)
    with node_network(
        tmp_path_factory.mktemp("nft"),
        environment_rules=filter_file(environment, addresses, SITE).content,
        node=host.address,
        pod=host.pods[3],
        world=list(elsewhere.values()),
        ports=[22, 6443, 10250, JOIN_PORT],
    ) as found:
        yield found


@pytest.mark.parametrize(
    ("who", "admitted"),
    [
        ("an operator", True),
        ("a jump host", True),
        ("the site's gateway", True),
        ("a pod elsewhere", False),
        ("a node elsewhere", False),
        ("the internet", False),
    ],
)
def test_ssh_is_for_operators(network: NodeNetwork, elsewhere: dict[str, str], who: str, admitted: bool) -> None:
    assert network.world.reaches(network.node_address, 10250, source=elsewhere[who])
    assert network.world.reaches(network.node_address, 22, source=elsewhere[who]) == admitted


def test_no_pod_reaches_its_own_node_s_ssh(network: NodeNetwork) -> None:
    assert network.pod.reaches(network.node_address, 10250, source=network.pod_address)
    assert not network.pod.reaches(network.node_address, 22, source=network.pod_address)


def test_a_node_reaches_its_own_and_pods_each_other(network: NodeNetwork, elsewhere: dict[str, str]) -> None:
    """Port 22 of a pod, which MPI uses, is the pod's own."""
    assert network.node.reaches(network.node_address, 22, source=network.node_address)
    assert network.pod.reaches(elsewhere["a pod elsewhere"], 22, source=network.pod_address)


@pytest.mark.parametrize("who", ["a host in quarantine", "a pod of it"])
def test_what_comes_from_a_host_in_quarantine_is_dropped(
    network: NodeNetwork, elsewhere: dict[str, str], who: str
) -> None:
    assert network.world.reaches(network.node_address, 10250, source=elsewhere["a node elsewhere"])
    assert not network.world.reaches(network.node_address, 10250, source=elsewhere[who])
    assert not network.world.reaches(network.pod_address, 22, source=elsewhere[who])


@pytest.mark.parametrize("which", ["the API", "an API server"])
def test_no_pod_reaches_the_join_endpoint_and_its_node_does(
    network: NodeNetwork, elsewhere: dict[str, str], which: str
) -> None:
    target = elsewhere[which]
    assert network.node.reaches(target, JOIN_PORT, source=network.node_address)
    assert network.pod.reaches(target, 6443, source=network.pod_address)
    assert not network.pod.reaches(target, JOIN_PORT, source=network.pod_address)


def test_a_pod_sends_from_its_own_address_alone(network: NodeNetwork, elsewhere: dict[str, str]) -> None:
    """Its node's addresses, its neighbour's and those of other machines are not its own."""
    neighbour = str(IPv4Address(network.pod_address) + 1)
    forged = [network.node_address, UPLINK, neighbour, *elsewhere.values(), "203.0.113.9"]
    assert heard(network.pod, network.world, WORLD, *forged, network.pod_address) == [network.pod_address]


def test_sources_of_other_interfaces_are_not_judged(network: NodeNetwork) -> None:
    """Another way back than the one by which it came is for machines with several interfaces."""
    sources = (network.pod_address, "203.0.113.9")
    assert heard(network.world, network.node, UPLINK, *sources) == list(sources)


def test_the_rules_can_be_read_without_an_environment(network: NodeNetwork, tmp_path: Path) -> None:
    rules = RULES.read_text().replace("/etc/longhaul/nft.d", str(tmp_path))
    network.node.run("nft", "--check", "--file", "-", stdin=rules)
