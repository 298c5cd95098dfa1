"""Translates AWS's tunnel options into strongSwan's proposals (docs.strongswan.org, "IKEv2 Cipher Suites").

Nothing here has side effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_ENCRYPTION = {
    "AES128": "aes128",
    "AES256": "aes256",
    "AES128-GCM-16": "aes128gcm16",
    "AES256-GCM-16": "aes256gcm16",
}
_INTEGRITY = {"SHA1": "sha1", "SHA2-256": "sha256", "SHA2-384": "sha384", "SHA2-512": "sha512"}
_GROUPS = {
    2: "modp1024",
    5: "modp1536",
    14: "modp2048",
    15: "modp3072",
    16: "modp4096",
    17: "modp6144",
    18: "modp8192",
    19: "ecp256",
    20: "ecp384",
    21: "ecp521",
    22: "modp1024s160",
    23: "modp2048s224",
    24: "modp2048s256",
}


def proposals(options: Mapping[str, Any]) -> tuple[str, str]:
    """Return the proposals of one tunnel for IKE and for ESP, each a list separated by commas. Ciphers with
    authenticated encryption (AES-GCM) form one proposal and all other ciphers a second one, because a proposal cannot
    mix both kinds."""
    ike = _suites(options, phase=1)
    esp = _suites(options, phase=2)
    return ike, esp


def _suites(options: Mapping[str, Any], *, phase: int) -> str:
    encryption = [_ENCRYPTION[value] for value in _values(options, f"Phase{phase}EncryptionAlgorithms")]
    integrity = [_INTEGRITY[value] for value in _values(options, f"Phase{phase}IntegrityAlgorithms")]
    groups = [_GROUPS[int(value)] for value in _values(options, f"Phase{phase}DHGroupNumbers")]
    combined = [cipher for cipher in encryption if "gcm" in cipher]
    others = [cipher for cipher in encryption if "gcm" not in cipher]
    suites = []
    if combined:
        functions = [f"prf{algorithm}" for algorithm in integrity] if phase == 1 else []
        suites.append("-".join([*combined, *functions, *groups]))
    if others:
        suites.append("-".join([*others, *integrity, *groups]))
    return ",".join(suites)


def _values(options: Mapping[str, Any], name: str) -> Sequence[Any]:
    return [option["Value"] for option in options[name]]
