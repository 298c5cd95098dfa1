"""Translates Azure's names of IPsec algorithms into strongSwan's.

Azure's names: learn.microsoft.com/azure/vpn-gateway/ipsec-ike-policy-howto, "IPsec/IKE policy parameters".
strongSwan's: docs.strongswan.org, "IKEv2 Cipher Suites". AES-GCM needs no integrity algorithm. IKE still derives keys
with one, whose name then has the prefix ``prf``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IKE_LIFETIME_S = 28800
"""Azure's lifetime of an IKE association in seconds, which cannot be set: same page."""

_AES = {"AES128": "aes128", "AES192": "aes192", "AES256": "aes256", "DES3": "3des"}
IKE_ENCRYPTION = {"GCMAES256": "aes256gcm16", "GCMAES128": "aes128gcm16", **_AES}
IKE_INTEGRITY = {"SHA384": "sha384", "SHA256": "sha256", "SHA1": "sha1", "MD5": "md5"}
DH_GROUPS = {
    "ECP384": "ecp384",
    "ECP256": "ecp256",
    "DHGroup24": "modp2048s256",
    "DHGroup14": "modp2048",
    "DHGroup2048": "modp2048",
    "DHGroup2": "modp1024",
    "DHGroup1": "modp768",
}
IPSEC_ENCRYPTION = {
    "GCMAES256": "aes256gcm16",
    "GCMAES192": "aes192gcm16",
    "GCMAES128": "aes128gcm16",
    **_AES,
}
PFS_GROUPS = {
    "ECP384": "ecp384",
    "ECP256": "ecp256",
    "PFS24": "modp2048s256",
    "PFS14": "modp2048",
    "PFS2048": "modp2048",
    "PFS2": "modp1024",
    "PFS1": "modp768",
    "None": "",
}


def ike_proposal(policy: Mapping[str, Any]) -> str:
    """Return a policy's proposal for IKE."""
    encryption, integrity = policy["ikeEncryption"], IKE_INTEGRITY[policy["ikeIntegrity"]]
    derived = f"prf{integrity}" if encryption.startswith("GCM") else integrity
    return f"{IKE_ENCRYPTION[encryption]}-{derived}-{DH_GROUPS[policy['dhGroup']]}"


def esp_proposal(policy: Mapping[str, Any]) -> str:
    """Return a policy's proposal for ESP."""
    encryption = policy["ipsecEncryption"]
    integrity = "" if encryption.startswith("GCM") else IKE_INTEGRITY[policy["ipsecIntegrity"]]
    parts = (IPSEC_ENCRYPTION[encryption], integrity, PFS_GROUPS[policy["pfsGroup"]])
    return "-".join(part for part in parts if part)
