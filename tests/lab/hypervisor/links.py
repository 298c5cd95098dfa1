"""Worlds of joined networks: by tunnels between real gateways, and by a peering."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from lab.desired import DesiredGateway, DesiredMachine, DesiredSubnet, DesiredTunnel, Network, Peering, Route, World
from lab.hosts import host_key
from lab.ssh import public_text
from tests.lab.hypervisor.conftest import PLATFORM, Lab, balancer, rule, user_data

NEAR, FAR, SIDE = "/networks/near", "/networks/far", "/networks/side"
NEAR_BLOCK, FAR_BLOCK, SIDE_BLOCK = (IPv4Network(f"10.{number}.0.0/16") for number in (1, 2, 3))
PODS = {"alpha": IPv4Network("10.1.128.0/28"), "gamma": IPv4Network("10.2.128.0/28")}
EGRESS = IPv4Address("198.51.100.100")
ADDRESSES = {
    NEAR: (IPv4Address("198.51.100.64"), IPv4Address("198.51.100.65")),
    FAR: (IPv4Address("198.51.100.96"), IPv4Address("198.51.100.97")),
}
GATEWAYS = {NEAR: "gw-near", FAR: "gw-far"}
PEERING = Peering(id="peering", first=NEAR, second=SIDE)
RULES = (
    rule("out", 100, "out"),
    rule("probes", 200, "in", sources=(PLATFORM,)),
    rule("web", 300, "in", protocol="tcp", ports=((8000, 8000),)),
    rule("ping", 320, "in", protocol="icmp"),
)


def tunnel(number: int, *, near: bool, key: str = "a key of the lab's") -> DesiredTunnel:
    """Return tunnel ``number`` of the two as one end has it; the near end dials."""
    own, other = (NEAR, FAR) if near else (FAR, NEAR)
    blocks = {NEAR: (NEAR_BLOCK,), FAR: (FAR_BLOCK,)}
    return DesiredTunnel(
        name=f"link-{number}",
        local=ADDRESSES[own][number],
        remote=ADDRESSES[other][number],
        key=f"{key} {number}",
        local_ranges=blocks[own],
        remote_ranges=blocks[other],
        ike_proposal="aes256gcm16-prfsha384-ecp384",
        esp_proposal="aes256gcm16-ecp384",
        ike_lifetime_s=28800,
        esp_lifetime_s=3600,
        dpd_s=6,
        initiate=near,
    )


def gateway(network: str, *, tunnels: int = 2) -> DesiredGateway:
    return DesiredGateway(
        id=GATEWAYS[network].upper(),
        name=GATEWAYS[network],
        network=network,
        addresses=ADDRESSES[network],
        tunnels=tuple(tunnel(number, near=network == NEAR) for number in range(tunnels)),
    )


def network(id_: str, block: IPv4Network, *routes: Route, egress: tuple[IPv4Address, ...] = ()) -> Network:
    """Return a network with two subnets, of which only the first has routes and egress."""
    first, second = (IPv4Network((int(block.network_address) + place * 256, 24)) for place in (0, 1))
    subnets = (
        DesiredSubnet(name="a", range=first, routes=routes, egress=egress),
        DesiredSubnet(name="b", range=second),
    )
    return Network(id=id_, name=id_.rpartition("/")[2], ranges=(block,), subnets=subnets)


def machine(name: str, address: str, network_id: str) -> DesiredMachine:
    """Return a machine that answers for its pods' first address too."""
    pods = PODS.get(name)
    commands = [f"ip addr add {pods[1]}/32 dev lo"] if pods else []
    return DesiredMachine(
        id=f"/vm/{name}",
        name=name,
        generation="g1",
        network=network_id,
        address=IPv4Interface(address),
        routed=(pods,) if pods else (),
        rules=RULES,
        image="",
        user_data=user_data(*commands),
    )


def world() -> World:
    """Return a world: near and far are joined by two tunnels, near and side by a peering; near's load balancer has
    alpha alone."""
    to_far, to_near = Route(destination=FAR_BLOCK, via="GW-NEAR"), Route(destination=NEAR_BLOCK, via="GW-FAR")
    to_side, from_side = Route(destination=SIDE_BLOCK, via="peering"), Route(destination=NEAR_BLOCK, via="peering")
    return World(
        networks=(
            network(NEAR, NEAR_BLOCK, to_far, to_side, egress=(EGRESS,)),
            network(FAR, FAR_BLOCK, to_near),
            network(SIDE, SIDE_BLOCK, from_side),
        ),
        machines=(
            machine("alpha", "10.1.0.4/24", NEAR),
            machine("beta", "10.1.1.4/24", NEAR),
            machine("gamma", "10.2.0.4/24", FAR),
            machine("delta", "10.3.0.4/24", SIDE),
        ),
        load_balancers=(replace(balancer(backends=(IPv4Address("10.1.0.4"),)), network=NEAR),),
        gateways=(gateway(NEAR), gateway(FAR)),
        peerings=(PEERING,),
    )


RACK = {"kind": "onprem", "gateways": [{"name": "gw-0", "public_address": "198.51.100.20"}]}
RACK_GATEWAY, RACK_HOST = "10.65.0.10", "10.65.32.10"


def write_hosts(path: Path, count: int) -> None:
    """Write a hosts file with ``count`` hosts."""
    path.write_text(json.dumps({"hosts": [{"name": f"node-{number}", "site": "rack"} for number in range(count)]}))


def tunnels(lab: Lab, name: str = "gw-near") -> dict[str, dict[str, Any]]:
    """Return a gateway's tunnels by name; none before a new daemon knows the gateway."""
    gateways = [item for item in lab.status().get("gateways", ()) if item["name"] == name]
    return {item["name"]: item for found in gateways for item in found["tunnels"]}


def ssh(lab: Lab, address: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a rack's machine as the operator."""
    name = f"test-links-{'gw-0' if address == RACK_GATEWAY else 'node-0'}"
    known = lab.state.directory / "known_hosts"
    known.write_text(f"{address} {public_text(host_key('test-links', name))}\n")
    options = f"-o StrictHostKeyChecking=yes -o UserKnownHostsFile={known} -o BatchMode=yes"
    return lab.enter("sh", "-c", f'ssh {options} -i "$LONGHAUL_SSH_KEY" root@{address} "{command}"')
