"""The join endpoint, at which a cloud's machine proves its identity before it becomes a node: the join service on the
API servers' machines."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan
from components.model.network.api_address import api_address
from contract.documents.node import JoinSettings
from contract.ports import JOIN_PORT


def join_name(environment: Environment) -> str:
    """Return the name in the join service's certificate. No API server has this name, so nothing mistakes the service
    for an API server."""
    return f"join.{environment.domain}"


def join_settings(environment: Environment, addresses: AddressPlan) -> JoinSettings:
    """Return what a machine needs to know about the join service. The address is an IP address, like that of the
    API."""
    return JoinSettings(
        address=str(api_address(environment, addresses)),
        port=JOIN_PORT,
        name=join_name(environment),
        cluster=environment.name,
    )


def joining_ranges(environment: Environment, addresses: AddressPlan) -> tuple[IPv4Network, ...]:
    """Return the ranges of pools' machines, which use the join endpoint. Pods have addresses there too, but their nodes
    block them. Hosts are not included: they have tokens instead."""
    sites = sorted({pool.site for pool in environment.pools.values()})
    return tuple(addresses.sites[site].pods for site in sites)
