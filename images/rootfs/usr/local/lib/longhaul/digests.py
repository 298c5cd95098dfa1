"""Digests of what is public in a file: certificates and public keys."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode

PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----(.+?)-----END \1-----", re.DOTALL)


def digests(text: str) -> tuple[str, ...]:
    """Return the SHA-256 of every certificate and public key (PEM) in a text, hexadecimal, in their order."""
    return tuple(hashlib.sha256(b64decode(match[2])).hexdigest() for match in PUBLIC.finditer(text))
