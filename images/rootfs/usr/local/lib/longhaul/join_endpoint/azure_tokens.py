"""Tokens of Entra ID: JSON Web Tokens (RFC 7519), signed RS256 with a key that the tenant publishes."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from machine.cloud_token import AUDIENCE

from contract.azure import SIGN_IN
from contract.certificate_requests import RSA_BITS, RefusedError
from contract.json_object import json_object
from join_endpoint.outgoing_http import SourceError, fetch_json
from join_endpoint.proof import FRESH

KEYS_S = 3600.0
"""Age in seconds after which keys are read again. A tenant changes its keys every few weeks (learn.microsoft.com,
"Signing key rollover in the Microsoft identity platform")."""

UNKNOWN_S = 60.0
"""Shortest time in seconds between two reads for an unknown key, since anyone can invent a key's name. After a failed
read, it is the shortest time until the next read for a known key."""

FAILED_S = 5.0
"""Shortest time in seconds after a failed read until the next read for an unknown key."""

AUDIENCES = (AUDIENCE, AUDIENCE.rstrip("/"))


class Tenant:
    """Signing keys of one tenant."""

    def __init__(self, tenant: str, *, login: str = SIGN_IN, clock: Callable[[], float] = time.monotonic) -> None:
        self.tenant = tenant
        self._url, self._clock = f"{login}/{tenant}/discovery/v2.0/keys", clock
        self._lock = threading.Lock()
        self._keys: dict[str, rsa.RSAPublicKey] = {}
        self._at = float("-inf")
        self._what = f"signing keys of tenant {tenant}"
        self._asking, self._trouble = False, ""

    def key(self, name: str) -> rsa.RSAPublicKey:
        """Return the key called ``name``. Raise ``RefusedError`` if the tenant has no such key, and ``SourceError`` if
        that is unknown now. Known keys stay valid while the tenant does not answer."""
        if self._begins(name):
            self._renew()
        with self._lock:
            if name in self._keys:
                return self._keys[name]
            trouble = f"{self._what} are being asked for" if self._asking else self._trouble
        if trouble:
            raise SourceError(trouble)
        raise RefusedError("ForgedProof", f"tenant {self.tenant} has no such signing key")

    def _begins(self, name: str) -> bool:
        """Return whether the caller must read the keys. The answer is True for only one caller at a time."""
        with self._lock:
            known, healthy = name in self._keys, not self._trouble
            longest = (KEYS_S if healthy else UNKNOWN_S) if known else (UNKNOWN_S if healthy else FAILED_S)
            if self._asking or self._clock() - self._at <= longest:
                return False
            self._asking = True
            return True

    def _renew(self) -> None:
        """Read the keys without the lock, because the answer may take :data:`join_endpoint.outgoing_http.TIMEOUT_S`."""
        keys, trouble = None, f"{self._what}: they could not be read"
        try:
            keys, trouble = dict(self._read()), ""
        except SourceError as error:
            trouble = str(error)
        finally:
            with self._lock:
                self._keys = self._keys if keys is None else keys
                self._at, self._asking, self._trouble = self._clock(), False, trouble

    def _read(self) -> Mapping[str, rsa.RSAPublicKey]:
        entries = fetch_json(self._url, what=self._what).get("keys")
        try:
            keys = [each for each in entries if each.get("kty") == "RSA"]  # type: ignore[union-attr]
            return {str(each["kid"]): _public(each) for each in keys}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SourceError(f"{self._what}: the answer holds no keys") from None


def claims(token: str, tenant: Tenant, *, now: datetime) -> dict[str, Any]:
    """Return the claims of a token of the tenant. Raise ``RefusedError`` if the tenant has not issued the token, if the
    token is not for Azure's resource manager (Longhaul has no application of its own in the directory), or if the token
    is not valid now."""
    head, body, signature = _parts(token)
    # The algorithm is fixed here; the token must not choose it.
    if head.get("alg") != "RS256" or not isinstance(head.get("kid"), str):
        raise RefusedError("ForgedProof", "the token is not signed RS256 with a key that it names")
    signed = token.rpartition(".")[0].encode()
    try:
        tenant.key(head["kid"]).verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        raise RefusedError("ForgedProof", "the token's signature is wrong") from None
    if body.get("iss") != f"https://sts.windows.net/{tenant.tenant}/" or body.get("tid") != tenant.tenant:
        raise RefusedError("ForeignProof", f"the token is not one of tenant {tenant.tenant}'s own")
    if body.get("aud") not in AUDIENCES:
        raise RefusedError("ForeignProof", "the token is for another audience")
    skew = FRESH.total_seconds()
    try:
        good = float(body["nbf"]) - skew <= now.timestamp() < float(body["exp"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise RefusedError("Malformed", "the token lacks its period of validity") from None
    if not good:
        raise RefusedError("StaleProof", "the token is not valid now")
    return body


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    try:
        head, body, signature = map(_decoded, token.split("."))
        return json_object(head), json_object(body), signature
    except ValueError:
        raise RefusedError("Malformed", "the token cannot be read") from None


def _decoded(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _public(key: Mapping[str, str]) -> rsa.RSAPublicKey:
    n, e = (int.from_bytes(_decoded(key[part]), "big") for part in ("n", "e"))
    if n.bit_length() < RSA_BITS:
        raise ValueError(f"a key of {n.bit_length()} bits")
    return rsa.RSAPublicNumbers(e, n).public_key()
