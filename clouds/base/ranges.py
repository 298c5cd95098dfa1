"""Address ranges as text and as networks."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""Private ranges; a supernet must be inside one of them (RFC 1918)."""

SHARED = IPv4Network("100.64.0.0/10")
"""Addresses behind a carrier's address translation (RFC 6598)."""


def is_public(address: IPv4Address) -> bool:
    """Return whether the address can be public. Ranges reserved for documentation count as public, because examples and
    labs use them."""
    kept = address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    return not kept and not any(address in range_ for range_ in (*PRIVATE, SHARED))


def parse_range(text: str) -> Network | None:
    """Parse an address or a range in CIDR notation; return None when the text is neither."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
