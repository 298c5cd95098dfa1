"""Division of a zone's node subnet into the nodes' own addresses and their pods' prefixes, and how many nodes fit."""

from __future__ import annotations

from ipaddress import IPv4Network

OWN_SHARE_BITS = 4
"""Prefix bits between a node subnet and its part for the nodes' own addresses: one sixteenth, because a node takes a
/28 for its pods and one address of its own."""

PREFIX_ADDRESSES = 16
"""Addresses of a delegated prefix, /28 (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network interfaces")."""

KEPT = 5
"""Addresses of a subnet that AWS keeps for itself: the first four and the last (docs.aws.amazon.com, "Subnet CIDR
blocks"). The first four are in the part for the nodes' own addresses."""


def pod_reservations(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return the parts of a node subnet that are reserved for prefixes: all but its first sixteenth. Without the
    reservation single addresses could be anywhere, and a half-full subnet might have no aligned /28 left."""
    return tuple(sorted(subnet.address_exclude(_own(subnet))))


def node_capacity(subnet: IPv4Network) -> int:
    """Return the number of nodes that fit into a node subnet, each with a /28 and an address of its own: 480 in a
    /19."""
    prefixes = sum(part.num_addresses for part in pod_reservations(subnet)) // PREFIX_ADDRESSES
    return int(min(prefixes, _own(subnet).num_addresses - KEPT))


def _own(subnet: IPv4Network) -> IPv4Network:
    return next(subnet.subnets(prefixlen_diff=OWN_SHARE_BITS))
