"""Address of the API servers' load balancer, for nodes, pods and laptops in the VPN."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

from components.model.environment import Environment
from components.model.network.address_plan import FRONTEND, AddressPlan
from contract.object_names import CLUSTER_DOMAIN


def api_address(environment: Environment, addresses: AddressPlan) -> IPv4Address:
    """Return the address of the API servers' load balancer, for every node and pod. It is an IP address, because only
    the control plane's own network knows the private zone; the serving certificates contain the address."""
    return addresses.sites[environment.control_plane.site].subnet("api")[FRONTEND]


def api_url(environment: Environment, addresses: AddressPlan) -> str:
    """Return the URL of the API at this address."""
    return f"https://{api_address(environment, addresses)}:{environment.control_plane.api.port}"


def cluster_for_laptops(environment: Environment) -> dict[str, Any]:
    """Return what laptops in the VPN need to know about the cluster: the API's address, and the DNS zones inside."""
    return {
        "server": f"https://{environment.api_name}:{environment.control_plane.api.port}",
        "zones": [environment.domain, CLUSTER_DOMAIN],
    }
