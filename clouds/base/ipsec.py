"""How the tunnels between sites are sealed, written once: each cloud says it in its own words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Algorithms and lifetimes of IKEv2 and of the tunnels that it makes."""

    cipher: str
    """Of IKE and of the tunnels. An AEAD cipher: it needs no integrity algorithm beside it."""
    derivation: str
    """What IKE derives its keys with."""
    group: str
    """Diffie-Hellman group of IKE, and of the tunnels' own forward secrecy."""
    ike_s: int
    """Life of IKE's keys, seconds."""
    tunnel_s: int
    """Life of a tunnel's keys, seconds."""
    silence_s: int
    """Silence after which a peer counts as dead, seconds; the same on all gateways."""


SUITE = Suite(cipher="AES-256-GCM", derivation="SHA-384", group="ECP-384", ike_s=28_800, tunnel_s=3_600, silence_s=30)
"""The one that all kinds of gateways offer. Azure renews the tunnels' keys every hour and those of IKE every eight,
which cannot be set (learn.microsoft.com/azure/vpn-gateway/ipsec-ike-policy-howto)."""
