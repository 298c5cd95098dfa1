"""MTU, the size of the largest packets: between sites, through a tunnel, of a pod."""

from __future__ import annotations

from components.model.environment import Environment
from components.model.network.links import LinkKind, links

ETHERNET_MTU = 1500
"""Largest packet, in bytes, between sites without tunnels, and inside a site for which no larger size is known."""

ESP_OVERHEAD = 20 + 8 + 8 + 8 + 2 + 16
"""Bytes that a tunnel adds to a packet: outer IPv4 header, UDP header (NAT traversal, RFC 3948), SPI and sequence
number, AES-GCM's IV, pad length and next header, AES-GCM's ICV (RFC 4303, RFC 4106). Of 1,500 bytes 1,438 are left.
docs.aws.amazon.com has the same number under "Best practices for a customer gateway device" for AES-GCM-16 with NAT
traversal."""

TUNNEL_MTU = 1400
"""Largest packet through a tunnel, bytes. It is smaller than the overhead allows, because Azure's gateways accept no
more (learn.microsoft.com, "About VPN devices"); strongSwan's user-space ESP has the same default."""

TUNNEL_MSS = 1350
"""Size in bytes to which gateways clamp TCP segments, for machines whose interface allows larger packets than a tunnel.
It is Azure's number (same page); AWS asks for 1,398 at most."""


def pod_mtu(environment: Environment) -> int:
    """Return the largest packet of a pod, bytes. It is one number for the environment, so that any two pods agree."""
    tunnels = any(link.kind is not LinkKind.BACKBONE for link in links(environment))
    return TUNNEL_MTU if tunnels else ETHERNET_MTU
