"""Digests of the public parts of a file: certificates and public keys."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode

PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----(.+?)-----END \1-----", re.DOTALL)
MOST = 3
"""Largest number of authorities that are trusted at once: two while one is replaced, and a renewed one."""


def digests(text: str) -> tuple[str, ...]:
    """Return the SHA-256 of every certificate and public key (PEM) in a text, hexadecimal, in the order of the text."""
    return tuple(hashlib.sha256(b64decode(match[2])).hexdigest() for match in PUBLIC.finditer(text))


def certificates(text: str) -> str:
    """Return only the certificates (PEM) in a text, because programs may also read other kinds of blocks, which no
    digest covers. Raise ``ValueError`` if there are none, or more than :data:`MOST`."""
    blocks = [match[0] for match in PUBLIC.finditer(text) if match[1] == "CERTIFICATE"]
    if not 0 < len(blocks) <= MOST:
        raise ValueError(f"{len(blocks)} certificates of authorities, where there are one or two")
    return "\n".join(blocks) + "\n"
