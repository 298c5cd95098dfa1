"""SSH public keys for tests."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def openssh(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> str:
    """Return the public half as OpenSSH writes it."""
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def ssh_key(bits: int) -> str:
    """Return an RSA key of this size."""
    return openssh(rsa.generate_private_key(public_exponent=65537, key_size=bits))
