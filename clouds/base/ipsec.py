"""Encryption settings of the tunnels between sites, defined once. Each cloud translates them into its own terms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Algorithms and lifetimes of IKEv2 and of the IPsec tunnels."""

    cipher: str
    """Cipher of IKE and of the tunnels. It is an AEAD cipher, so it needs no integrity algorithm."""
    derivation: str
    """Hash function of IKE's key derivation."""
    group: str
    """Diffie-Hellman group of IKE, and of the tunnels' perfect forward secrecy."""
    ike_s: int
    """Lifetime of IKE's keys, in seconds."""
    tunnel_s: int
    """Lifetime of a tunnel's keys, in seconds."""
    silence_s: int
    """Time without an answer after which a peer counts as dead, in seconds; the same on all gateways."""


SUITE = Suite(cipher="AES-256-GCM", derivation="SHA-384", group="ECP-384", ike_s=28_800, tunnel_s=3_600, silence_s=30)
"""The suite that all kinds of gateways support. Azure renews a tunnel's keys every hour and IKE's keys every eight
hours; this cannot be set (learn.microsoft.com/azure/vpn-gateway/ipsec-ike-policy-howto)."""
