"""Issuers of the tokens with which people sign in: the vault's secret, and the API servers' file that is made of the
secret.

The secret contains the list as text. An API server's file contains the same characters, so both sides can compare
digests. Nothing in the list is confidential. The list is in the vault because only officers write there.
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
    """Return the list in an API server's file. Raise ``ValueError`` if the file contains no list."""
    (text,) = _LINE.findall(content)
    return str(text)


def digest_of(text: str) -> str:
    """Return the digest of a list, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def urls_of(text: str) -> tuple[str, ...]:
    """Return the issuers' addresses in a list. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the list is
    malformed."""
    return tuple(str(entry["issuer"]["url"]) for entry in json.loads(text))
