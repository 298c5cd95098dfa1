"""The ranges from which operators, and SSH, are accepted."""

from __future__ import annotations

from ipaddress import IPv4Network, collapse_addresses

from components.model.environment import Environment
from components.model.hosts.places import gateway_places
from components.model.network.address_plan import AddressPlan


def operators_inside(environment: Environment, addresses: AddressPlan) -> tuple[IPv4Network, ...]:
    """Return the private ranges of operators: the plan's, and those that the file names."""
    return tuple(collapse_addresses([addresses.operators, *environment.access.operators_inside]))


def ssh_sources(environment: Environment, addresses: AddressPlan, site: str) -> tuple[IPv4Network, ...]:
    """Return the ranges from which a node of a site accepts SSH: operators inside and the site's gateways, which may be
    jump hosts."""
    gateways = [IPv4Network(place.address) for place in gateway_places(environment, addresses) if place.site == site]
    return tuple(collapse_addresses([*operators_inside(environment, addresses), *gateways]))
