"""Readers that run where a person signs in: the profile, and what an issuer answers."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path

from tests.fuzz.target import Target


def profile(folder: Path) -> Target:
    """Read a profile that was changed on purpose: its digest fits."""
    from longhaul.client import profile as reader
    from longhaul.client.errors import SignInError

    issuer = {"url": "https://corp.example.com", "client_id": "c", "scopes": ["openid"], "certificate_authority": ""}
    inside = {"range": "10.64.0.0/10", "dns": "10.127.0.10", "zones": ["lab.example.com"]}
    seed = {
        "format": reader.FORMAT,
        "name": "lab",
        "server": "https://api.lab.example.com:6443",
        "server_name": "",
        "authority": "PEM",
        "issuers": {"corp": issuer},
        "expires": "2100-01-01T00:00:00+00:00",
        "vpn": {
            "endpoints": ["https://203.0.113.7"],
            "authority": "PEM",
            "name": "vpn.lab.example.com",
            "inside": inside,
        },
    }
    path = folder / "profile.json"

    def read(data: bytes) -> None:
        with suppress(ValueError, RecursionError):
            said = json.loads(data)
            if isinstance(said, dict):
                data = json.dumps({**said, "digest": reader.digest(said)}).encode()
        path.write_bytes(data)
        with suppress(SignInError):
            reader.read_profile(path).issuer(None)

    return Target(read, (seed,))


def id_token(folder: Path) -> Target:
    """Read the claims of an ID token, and hold them against the sign-in."""
    from longhaul.client.errors import SignInError
    from longhaul.client.oidc import check, claims_of, life
    from longhaul.client.profile import ProfileIssuer

    issuer = ProfileIssuer(url="https://corp.example.com", client_id="c", scopes=("openid",))
    seed = {"iss": issuer.url, "aud": ["c", "d"], "exp": 2_000_000_000, "iat": 1_999_996_400, "nonce": "n"}

    def read(data: bytes) -> None:
        body = base64.urlsafe_b64encode(data).decode().rstrip("=")
        with suppress(SignInError):
            claims = claims_of(f"e30.{body}.x")
            check(issuer, claims, nonce="n")
            life(claims)
        with suppress(SignInError):
            claims_of(data.decode(errors="replace"))

    return Target(read, (seed,))
