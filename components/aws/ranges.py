"""How a site's ranges are cut into the subnets of a VPC."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model import SitePlan
from components.model.network import nth_subnet

FIRST_PUBLIC = 8
"""Sixteenth of the infrastructure range that is the first zone's public subnet; the plan's own parts are below it."""

OWN_SHARE_BITS = 4
"""A node takes a /28 for its pods and one address of its own, so a sixteenth of its subnet is kept for the nodes'
own."""


def node_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """The subnet of a zone's nodes and of their pods: EC2 takes an interface's prefix from the interface's own subnet
    (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network interfaces"), so both have to be in one."""
    return site.zone_pods(zone)


def public_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """The subnet of a zone's NAT gateway."""
    return nth_subnet(site.infra, site.infra.prefixlen + 4, FIRST_PUBLIC + zone)


def pod_reservations(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """The parts of a node subnet that only prefixes are taken from: all but its first sixteenth. Without them single
    addresses land anywhere, and a subnet half full may have no aligned /28 left."""
    own = nth_subnet(subnet, subnet.prefixlen + OWN_SHARE_BITS, 0)
    return tuple(sorted(subnet.address_exclude(own)))


def node_capacity(subnet: IPv4Network) -> int:
    """Nodes that fit into a node subnet, each with a /28: 480 in a /19."""
    return int(sum(part.num_addresses for part in pod_reservations(subnet)) // 16)
