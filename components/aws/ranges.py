"""Division of a site's ranges into the subnets of a VPC."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model import SitePlan
from components.model.address_plan import nth_subnet

FIRST_PUBLIC = 8
"""Index of the first zone's public subnet among the sixteenths of the infrastructure range; the address plan's own
parts have lower ones."""

OWN_SHARE_BITS = 4
"""Prefix bits between a node subnet and its part for the nodes' own addresses: one sixteenth, because a node takes a
/28 for its pods and one address of its own."""


def node_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """Return the subnet of a zone's nodes and their pods. Both have to be in one, because EC2 takes an interface's
    prefix from the interface's own subnet (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network
    interfaces")."""
    return site.zone_pods(zone)


def public_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """Return the subnet of a zone's NAT gateway."""
    return nth_subnet(site.infra, site.infra.prefixlen + 4, FIRST_PUBLIC + zone)


def pod_reservations(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return the parts of a node subnet that are reserved for prefixes: all but its first sixteenth. Without the
    reservation single addresses could be anywhere, and a half-full subnet might have no aligned /28 left."""
    own = nth_subnet(subnet, subnet.prefixlen + OWN_SHARE_BITS, 0)
    return tuple(sorted(subnet.address_exclude(own)))


def node_capacity(subnet: IPv4Network) -> int:
    """Return the number of nodes that fit into a node subnet, each with a /28: 480 in a /19."""
    return int(sum(part.num_addresses for part in pod_reservations(subnet)) // 16)
