"""Where a cloud's machine proves what it is before it is a node: the join service of the API servers' machines."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model.environment import Environment
from components.model.network import AddressPlan
from components.model.nodes import api_address

JOIN_PORT = 6444
"""The service's port, on the load balancer and on the machines; beside the API's own, which therefore cannot be it."""

JOIN_PATH = "/healthz"
"""What the load balancer asks for."""


def join_name(environment: Environment) -> str:
    """Whom the service's certificate is of. No name of the API servers': it is not to be taken for one of them."""
    return f"join.{environment.domain}"


def join_settings(environment: Environment, addresses: AddressPlan) -> dict[str, str | int]:
    """What a machine has to know of it; by address, as of the API."""
    return {
        "address": str(api_address(environment, addresses)),
        "port": JOIN_PORT,
        "name": join_name(environment),
        "cluster": environment.name,
    }


def joining_ranges(environment: Environment, addresses: AddressPlan) -> tuple[IPv4Network, ...]:
    """Where machines of pools are, and so who asks: racks' hosts have tokens instead. Pods are there
    too."""
    sites = sorted({pool.site for pool in environment.pools.values()})
    return tuple(addresses.sites[site].pods for site in sites)
