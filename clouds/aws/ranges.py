"""Ranges of a site's VPC, the division of a zone's node subnet into nodes' addresses and pods' prefixes, and the number
of nodes that fit."""

from __future__ import annotations

from ipaddress import IPv4Network

OWN_SHARE_BITS = 4
"""Prefix bits between a node subnet and its part for the nodes' own addresses: one sixteenth, because a node takes a
/28 for its pods and one address of its own."""

PREFIX_ADDRESSES = 16
"""Addresses of a delegated prefix, /28 (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network interfaces")."""

KEPT = 5
"""Addresses of a subnet that AWS reserves: the first four and the last (docs.aws.amazon.com, "Subnet CIDR blocks"). The
first four are in the part for the nodes' own addresses."""

LARGEST_RANGE = 16
"""Prefix length of a VPC's largest range and of its largest subnet (docs.aws.amazon.com, "VPC CIDR blocks" and "Subnet
CIDR blocks")."""

LARGEST_BLOCK = 13
"""Prefix length of the largest block of a site: a zone's subnet is an eighth of it
(components/model/network/address_plan.py) and may not be larger than :data:`LARGEST_RANGE`."""

RANGES = 5
"""Largest number of ranges of a VPC by default. AWS raises the quota "IPv4 CIDR blocks per VPC" up to 50
(docs.aws.amazon.com, "Amazon VPC quotas")."""


def vpc_ranges(block: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return the ranges of the VPC for a site's block."""
    return (block,) if block.prefixlen >= LARGEST_RANGE else tuple(block.subnets(new_prefix=LARGEST_RANGE))


def pod_reservations(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return the parts of a node subnet that are reserved for prefixes: all but its first sixteenth. Without the
    reservation single addresses could be anywhere, and a half-full subnet might have no aligned /28 left."""
    return tuple(sorted(subnet.address_exclude(_own_share(subnet))))


def node_capacity(subnet: IPv4Network) -> int:
    """Return the number of nodes that fit into a node subnet, each with a /28 and an address of its own: 480 in a /19.
    A range larger than EC2's largest subnet counts as that subnet."""
    subnet = vpc_ranges(subnet)[0]
    prefixes = sum(part.num_addresses for part in pod_reservations(subnet)) // PREFIX_ADDRESSES
    return int(min(prefixes, _own_share(subnet).num_addresses - KEPT))


def _own_share(subnet: IPv4Network) -> IPv4Network:
    return next(subnet.subnets(prefixlen_diff=OWN_SHARE_BITS))
