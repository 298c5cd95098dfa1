"""Requests about a person to kube-apiserver, with the person's own token. Only kube-apiserver judges tokens: issuers,
claims, audiences, clocks and revoked access. This module trusts a token's content only after kube-apiserver has
accepted the token."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract.documents.revoked import is_name
from contract.json_object import json_object
from contract.kubernetes.paths import ACCESS_REVIEWS
from contract.users import RESERVED
from contract.vpn import LONGEST_NAME

TIMEOUT_S = 10.0
MOST = 1024 * 1024
"""Largest answer in bytes."""

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class PersonRefusedError(Exception):
    """Raised if the person is refused. ``status`` is the HTTP status of the answer to the laptop."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class VpnPerson:
    """A person who may use the VPN."""

    name: str
    token_ends: float
    """End of the token, seconds since the epoch."""


@dataclass(frozen=True, kw_only=True)
class People:
    """Source of people: the API server."""

    url: str
    authority: Path
    right: str
    """Non-resource URL for which a person needs the verb ``get``."""

    def find(self, token: str) -> VpnPerson:
        """Return the person whose token ``token`` is. Raise ``PersonRefusedError`` if the token or the person is
        refused, and ``OSError`` if the API does not answer."""
        user = self._ask(token, WHO, "SelfSubjectReview", "authentication.k8s.io/v1", {})
        name = str(_inside(user, "status", "userInfo").get("username", ""))
        asked = {"nonResourceAttributes": {"path": self.right, "verb": "get"}}
        review = self._ask(token, ACCESS_REVIEWS, "SelfSubjectAccessReview", "authorization.k8s.io/v1", asked)
        if _inside(review, "status").get("allowed") is not True:
            raise PersonRefusedError(403, f"{name} is in no group with `vpn`")
        if name.startswith(RESERVED) or not is_name(name) or len(name) > LONGEST_NAME:
            raise PersonRefusedError(403, f"{name!r} is not the name of a person in at most {LONGEST_NAME} characters")
        return VpnPerson(name=name, token_ends=_end(token))

    def _ask(self, token: str, path: str, kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
        document = {"apiVersion": version, "kind": kind, **({"spec": spec} if spec else {})}
        status, answer = self._post(token, path, json.dumps(document))
        if status == 401:
            raise PersonRefusedError(401, "the API server does not believe the token: sign in again")
        if status == 403:
            raise PersonRefusedError(403, "the API server refuses this person")
        if status != 201:
            raise OSError(f"the API server answered {status}")
        try:
            return json_object(answer)
        except ValueError as error:
            raise OSError(f"the API server's answer cannot be read: {error}") from None

    def _post(self, token: str, path: str, body: str) -> tuple[int, bytes]:
        parts = urllib.parse.urlsplit(self.url)
        context = ssl.create_default_context(cafile=str(self.authority))
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port or 443, timeout=TIMEOUT_S, context=context
        )
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json"}
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(MOST)
        except http.client.HTTPException as error:
            raise OSError(f"the API server's answer cannot be read: {type(error).__name__}") from None
        finally:
            connection.close()


def _inside(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        document = document.get(key, {}) if isinstance(document.get(key, {}), dict) else {}
    return document


def _end(token: str) -> float:
    """Return the expiry of a token that the API server has accepted. Raise ``PersonRefusedError`` if the token has no
    expiry."""
    try:
        claims = token.split(".")[1]
        return float(json_object(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
    except (ValueError, LookupError, TypeError, OverflowError):
        raise PersonRefusedError(401, "the token does not say when it ends") from None
