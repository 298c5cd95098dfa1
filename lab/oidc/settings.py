"""Settings of the lab's identity provider, as ``server.mjs`` reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.state import write_atomically

LIFE_S = 3600
"""Lifetime of a token in seconds."""
KEY_ID = "corp"


def write_settings(
    path: Path,
    *,
    url: str,
    listen: tuple[str, int],
    certificate: Path,
    key: Path,
    signing_key: rsa.RSAPrivateKey,
    clients: Mapping[str, int],
    people: Mapping[str, Any],
) -> None:
    """Write settings: the provider at ``url`` serves at the address and port ``listen``, gives each client tokens that
    last for its number of seconds, and knows people by their names, with their claims."""
    jwk: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(signing_key))
    address, port = listen
    settings = {
        "issuer": url,
        "address": address,
        "port": port,
        "certificate": str(certificate),
        "key": str(key),
        "jwks": {"keys": [{**jwk, "kid": KEY_ID, "use": "sig", "alg": "RS256"}]},
        "clients": dict(clients),
        "people": dict(people),
    }
    write_atomically(path, json.dumps(settings))
