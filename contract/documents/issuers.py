"""Issuers by whose tokens people sign in: the vault's secret, and the file of API servers that it becomes.

The secret has the list as text, so that an API server's file holds the same characters, and both sides can compare its
digest. Nothing in it is confidential; it is in the vault because only officers write there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

PATH = "/etc/longhaul/authentication.yaml"
"""File with the issuers: an ``AuthenticationConfiguration`` whose ``jwt`` is the list."""
FIELD = "jwt"
_LINE = re.compile(rf"^{FIELD}: (.*)$", re.MULTILINE)


def to_text(authenticators: Sequence[Mapping[str, Any]]) -> str:
    """Return the secret's value: ``JWTAuthenticators`` as text in JSON, which is YAML."""
    return json.dumps({FIELD: json.dumps(authenticators)})


def list_of_secret(text: str) -> str:
    """Return the list in the secret's value."""
    return str(json.loads(text)[FIELD])


def list_of_file(content: str) -> str:
    """Return the list in an API server's file; ``ValueError`` when there is none."""
    (text,) = _LINE.findall(content)
    return str(text)


def digest_of(text: str) -> str:
    """Return the digest of a list, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def urls_of(text: str) -> tuple[str, ...]:
    """Return the issuers' addresses in a list; ``KeyError``, ``TypeError`` or ``ValueError`` when it is not one."""
    return tuple(str(entry["issuer"]["url"]) for entry in json.loads(text))
