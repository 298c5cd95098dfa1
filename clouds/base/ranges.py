"""Address ranges as text and as networks."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""Private ranges; a supernet must be inside one of them (RFC 1918)."""


def parse_range(text: str) -> Network | None:
    """Parse an address or a range in CIDR notation; return None when the text is neither."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
