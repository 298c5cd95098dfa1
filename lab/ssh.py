"""SSH keys as text."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def public_text(key: Ed25519PrivateKey) -> str:
    """Return the public half, as in ``known_hosts`` and ``authorized_keys``."""
    encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    return key.public_key().public_bytes(encoding, form).decode()


def private_text(key: Ed25519PrivateKey) -> str:
    """Return the key in OpenSSH's own format."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
