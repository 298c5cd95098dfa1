"""Address ranges as text and as networks, and the ranges of a site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""Private ranges; a supernet must be inside one of them (RFC 1918)."""

SHARED = IPv4Network("100.64.0.0/10")
"""Addresses behind a carrier's address translation (RFC 6598)."""

NOT_PUBLIC = (
    *PRIVATE,
    SHARED,
    *map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4")),
)
"""Ranges without an address on the internet: private ones, this network, loopback, link-local, multicast and reserved
(IANA IPv4 Special-Purpose Address Registry). Ranges for documentation are left out, because examples and labs use them
as public ranges."""


def is_public(range_: IPv4Address | IPv4Network) -> bool:
    """Return whether the address, or every address of the range, can be public."""
    network = IPv4Network(range_)
    return not any(network.overlaps(kept) for kept in NOT_PUBLIC)


def why_not_operators(range_: IPv4Network) -> str:
    """Return why a range cannot be an operators' range, whose addresses the clouds see; empty when it can be one.
    Azure's vaults accept no private range (learn.microsoft.com, "Configure Azure Key Vault firewalls and virtual
    networks")."""
    if range_.prefixlen == 0:
        return "is the whole internet"
    if any(range_.subnet_of(private) for private in PRIVATE):
        return "is private"
    return "" if is_public(range_) else "holds addresses that are not public"


OPERATORS = "the public range that people and CI leave by, such as 198.51.100.0/28"
"""Advice when a range cannot be an operators' range."""


def parse_range(text: str) -> Network | None:
    """Parse an address or a range in CIDR notation; return None when the text is neither."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True)
class SiteRanges:
    """Ranges that the address plan gives a site, in the form that clouds use."""

    supernet: IPv4Network
    """Supernet of the environment."""
    block: IPv4Network
    """Block of the site."""
    parts: Mapping[str, IPv4Network]
    """Range of each subnet, by the part of the site that uses it."""
    zones: tuple[IPv4Network, ...]
    """Ranges for nodes and pods of each zone, when each zone has its own subnet, in the order of the site's zones."""
    pods_each: int = 16
    """Number of addresses for pods on one node."""
