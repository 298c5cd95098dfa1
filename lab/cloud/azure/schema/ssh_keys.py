"""SSH public keys with which Azure makes machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from lab.cloud.azure.errors import invalid

RSA_BITS = 2048
"""Smallest size of an RSA key: learn.microsoft.com/azure/virtual-machines/linux/create-ssh-keys-detailed, "Supported
SSH key formats", which accepts no other types except Ed25519."""
TARGET = "linuxConfiguration.ssh.publicKeys.keyData"


def check_keys(keys: Iterable[dict[str, Any]]) -> None:
    """Refuse public keys of other types, RSA keys that are too short, and texts that are not keys."""
    for key in keys:
        if not _is_taken(key["keyData"]):
            raise invalid(f"The value of parameter {TARGET} is invalid.", target=TARGET)


def _is_taken(text: str) -> bool:
    try:
        key = load_ssh_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return isinstance(key, Ed25519PublicKey) or (isinstance(key, RSAPublicKey) and key.key_size >= RSA_BITS)
