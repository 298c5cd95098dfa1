"""Racks of an environment in the lab, in their state before Longhaul runs on them. Nothing here has side effects.

Each on-premises site is one network. Its router delivers pods' ranges to hosts, and the other sites' blocks to the
first gateway that runs, as a site's own routers would. Gateways and hosts run a bare Debian. Like a bare-metal
provisioner, the user-data only gives each machine an SSH host key, and admits the operator.

Host keys are derived from names, so that their public halves can be pinned in a committed hosts file. The keys protect
nothing outside the lab.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.hosts.places import gateway_places, host_places
from components.model.hosts.section import Host
from lab.desired import DesiredMachine, DesiredRule, DesiredSubnet, Network, World
from lab.hypervisor.addresses import HOSTS_EGRESS
from lab.ssh import private_text, public_text

IMAGE = "bare"
"""Image of every machine in a rack."""

_ANYTHING = tuple(
    DesiredRule(name=f"any-{direction}", priority=100, direction=direction, allow=True, protocol="any")
    for direction in ("in", "out")  # a rack has no security groups
)


def hosts_world(environment: Environment, addresses: AddressPlan, *, authorized_key: str) -> World:
    """Return the racks of ``environment``; ``authorized_key`` is the operator's SSH key, as in ``authorized_keys``."""
    sites = [name for name, site in environment.sites.items() if not cloud_of(site).rents]
    return World(
        networks=tuple(_network(addresses, name, number) for number, name in enumerate(sites)),
        machines=(*_gateways(environment, addresses, authorized_key), *_hosts(environment, addresses, authorized_key)),
    )


def has_gpu_stand_ins(host: Host) -> bool:
    """Return whether a host gets stand-ins for GPUs: its operating system is to have a driver, and the lab's has one.
    Any other host's driver would be installed, for which the lab has no hardware."""
    return host.gpus > 0 and host.gpu_driver == "provided"


def network_id(site: str) -> str:
    """Return the id of a rack site's network."""
    return f"/racks/{site}"


def machine_name(environment: Environment, name: str) -> str:
    """Return the machine name of a host or gateway."""
    return f"{environment.name}-{name}"


def _network(addresses: AddressPlan, site: str, number: int) -> Network:
    plan = addresses.sites[site]
    return Network(
        id=network_id(site),
        name=site,
        ranges=(plan.block,),
        metadata=False,
        subnets=(
            DesiredSubnet(name="gateway", range=plan.subnet("gateway")),
            DesiredSubnet(name="nodes", range=plan.nodes, egress=(HOSTS_EGRESS + number,)),
        ),
    )


def _gateways(environment: Environment, addresses: AddressPlan, authorized_key: str) -> Iterator[DesiredMachine]:
    for place in gateway_places(environment, addresses):
        prefix = addresses.sites[place.site].subnet("gateway").prefixlen
        yield _machine(
            environment,
            place.name,
            site=place.site,
            address=IPv4Interface(f"{place.address}/{prefix}"),
            routed=tuple(plan.block for name, plan in addresses.sites.items() if name != place.site),
            public=place.public_address,
            authorized_key=authorized_key,
        )


def _hosts(environment: Environment, addresses: AddressPlan, authorized_key: str) -> Iterator[DesiredMachine]:
    gpus = {host.name: host.gpus for host in environment.hosts if has_gpu_stand_ins(host)}
    for place in host_places(environment, addresses):
        prefix = addresses.sites[place.site].nodes.prefixlen
        yield _machine(
            environment,
            place.name,
            site=place.site,
            address=IPv4Interface(f"{place.address}/{prefix}"),
            routed=(place.pods,),
            authorized_key=authorized_key,
            gpus=gpus.get(place.name, 0),
        )


def _machine(
    environment: Environment,
    name: str,
    *,
    site: str,
    address: IPv4Interface,
    routed: tuple[IPv4Network, ...],
    authorized_key: str,
    public: IPv4Address | None = None,
    gpus: int = 0,
) -> DesiredMachine:
    machine = machine_name(environment, name)
    return DesiredMachine(
        id=f"{network_id(site)}/{name}",
        name=machine,
        generation="1",
        network=network_id(site),
        address=address,
        routed=routed,
        public=public,
        rules=_ANYTHING,
        image=IMAGE,
        gpus=gpus,
        user_data=user_data(host_key(environment.name, machine), authorized_key),
    )


def host_key(env: str, machine: str) -> Ed25519PrivateKey:
    """Return the SSH host key of a machine in the lab ``env``."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"longhaul lab host {env} {machine}".encode()).digest())


def user_data(key: Ed25519PrivateKey, authorized_key: str) -> bytes:
    """Return cloud-config (JSON is YAML) as a bare-metal provisioner would provide it."""
    content = {
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": private_text(key), "ed25519_public": public_text(key)},
        "disable_root": False,
        "users": [],
        "ssh_authorized_keys": [authorized_key],
    }
    return b"#cloud-config\n" + json.dumps(content).encode() + b"\n"
