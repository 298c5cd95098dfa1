"""The racks of an environment as the lab's hypervisor makes them."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from components.model import parse, plan
from lab.desired import World
from lab.hosts import host_key, hosts_world
from lab.ssh import private_text, public_text
from tests.model.make import SOURCE, STACK, environment, full, hosts

AUTHORIZED = "ssh-ed25519 AAAA operator@lab"


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "hosts.test.yaml").write_text(json.dumps(hosts()))
    declared = parse(full(), source=tmp_path / SOURCE, stack=STACK)
    return hosts_world(declared, plan(declared), authorized_key=AUTHORIZED)


def test_a_site_is_a_network_whose_nodes_leave_by_a_nat_and_no_cloud_serves(world: World) -> None:
    (network,) = world.networks
    assert (network.id, network.name, network.ranges) == ("/racks/colo", "colo", (IPv4Network("10.68.0.0/14"),))
    assert {subnet.name: subnet.egress for subnet in network.subnets} == {
        "gateway": (),
        "nodes": (IPv4Address("198.51.100.128"),),
    }
    assert not network.metadata


def test_gateways_are_on_the_internet_and_are_given_what_is_for_other_sites(world: World) -> None:
    first, second = (machine for machine in world.machines if machine.public)
    assert (first.name, second.name) == ("test-gw-0", "test-gw-1")
    assert first.public == IPv4Address("203.0.113.10")
    assert first.address == IPv4Interface("10.68.0.10/22")
    assert first.routed == second.routed == (IPv4Network("10.64.0.0/16"), IPv4Network("10.65.0.0/16"))
    # The lower address wins when two are delivered the same.
    assert first.address < second.address


def test_hosts_have_their_place_of_the_plan_and_are_given_their_pods(world: World) -> None:
    first, second = (machine for machine in world.machines if not machine.public)
    assert (first.name, str(first.address.ip)) == ("test-rack-0", "10.68.128.200")
    assert second.id == "/racks/colo/rack-1"
    assert [str(machine.routed[0]) for machine in (first, second)] == ["10.70.0.0/28", "10.70.0.16/28"]
    assert {machine.image for machine in world.machines} == {"bare"}


def test_user_data_gives_each_its_own_host_key_and_lets_the_operator_in(world: World) -> None:
    machines = {machine.name: machine for machine in world.machines}
    configs = {
        name: json.loads(machine.user_data.removeprefix(b"#cloud-config\n")) for name, machine in machines.items()
    }
    assert {tuple(config["ssh_authorized_keys"]) for config in configs.values()} == {(AUTHORIZED,)}
    publics = {name: config["ssh_keys"]["ed25519_public"] for name, config in configs.items()}
    assert publics == {name: public_text(host_key("test", name)) for name in machines}
    assert len(set(publics.values())) == len(machines)


def test_a_host_key_never_changes() -> None:
    # Its public half is in the repository, pinned in stacks/hosts.lab.yaml.
    expected = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHh0/h91YiRc1qBK5Slo5ldhNwum7rY5gUpIhjehSUWY"
    assert public_text(host_key("lab", "lab-node-0")) == expected


def test_a_key_as_text_is_the_key() -> None:
    key = Ed25519PrivateKey.generate()
    read = load_ssh_private_key(private_text(key).encode(), password=None)
    assert isinstance(read, Ed25519PrivateKey)
    assert public_text(read) == public_text(key)


def test_without_racks_there_is_nothing() -> None:
    declared = environment()
    assert hosts_world(declared, plan(declared), authorized_key=AUTHORIZED) == World()
