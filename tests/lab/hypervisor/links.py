"""Worlds of networks that are joined: by tunnels between real gateways, and by a peering."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from lab.desired import Gateway, Machine, Network, Peering, Route, Subnet, Tunnel, World
from tests.lab.hypervisor.conftest import PLATFORM, balancer, rule, user_data

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


def tunnel(number: int, *, near: bool, key: str = "a key of the lab's") -> Tunnel:
    """Tunnel ``number`` of the two as one end has it; the near end dials."""
    own, other = (NEAR, FAR) if near else (FAR, NEAR)
    blocks = {NEAR: (NEAR_BLOCK,), FAR: (FAR_BLOCK,)}
    return Tunnel(
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


def gateway(network: str, *, tunnels: int = 2) -> Gateway:
    return Gateway(
        id=GATEWAYS[network].upper(),
        name=GATEWAYS[network],
        network=network,
        addresses=ADDRESSES[network],
        tunnels=tuple(tunnel(number, near=network == NEAR) for number in range(tunnels)),
    )


def network(id_: str, block: IPv4Network, *routes: Route, egress: IPv4Address | None = None) -> Network:
    """Two subnets of which only the first has routes, and a way out."""
    first, second = (IPv4Network((int(block.network_address) + place * 256, 24)) for place in (0, 1))
    subnets = (Subnet(name="a", range=first, routes=routes, egress=egress), Subnet(name="b", range=second))
    return Network(id=id_, name=id_.rpartition("/")[2], ranges=(block,), subnets=subnets)


def machine(name: str, address: str, network_id: str) -> Machine:
    """A machine that answers for its pods' first address too."""
    pods = PODS.get(name)
    commands = [f"ip addr add {pods[1]}/32 dev lo"] if pods else []
    return Machine(
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
    """Near and far behind two tunnels, near and side peered; near's load balancer has alpha alone."""
    to_far, to_near = Route(destination=FAR_BLOCK, via="GW-NEAR"), Route(destination=NEAR_BLOCK, via="GW-FAR")
    to_side, from_side = Route(destination=SIDE_BLOCK, via="peering"), Route(destination=NEAR_BLOCK, via="peering")
    return World(
        networks=(
            network(NEAR, NEAR_BLOCK, to_far, to_side, egress=EGRESS),
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
