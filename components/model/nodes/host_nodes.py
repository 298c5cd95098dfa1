"""Hosts as nodes: names of their machines and Nodes.

A cloud machine learns its name, zone and addresses from its cloud (``node/place.py`` in images/rootfs); for a host they
follow from the address plan. The node controller derives them by the same rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.model.environment import Environment
from components.model.hosts.places import HostPlace, host_places
from components.model.network.address_plan import AddressPlan

HOSTS = "hosts"
"""Name of the pool of hosts in commands and messages."""


@dataclass(frozen=True, kw_only=True)
class HostNode:
    """A bare-metal host as a node."""

    node_name: str
    """``<env>-<host>``, also the machine's name."""
    provider_id: str
    place: HostPlace


def host_node_name(environment: Environment, host_name: str) -> str:
    """Return the name of a host's machine and node."""
    return f"{environment.name}-{host_name}"


def host_nodes(environment: Environment, addresses: AddressPlan) -> dict[str, HostNode]:
    """Return every host as a node, by its name in the hosts file."""
    return {
        place.name: HostNode(
            node_name=host_node_name(environment, place.name),
            provider_id=f"longhaul://{environment.name}/{place.site}/{place.name}",
            place=place,
        )
        for place in host_places(environment, addresses)
    }
