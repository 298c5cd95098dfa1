"""OpenID Connect for a public client: discovery, the exchange of a code, refreshing, and the checks of a token's
claims.

This module does not check an ID token's signature: the token comes from the issuer's own server over TLS (OpenID
Connect Core 1.0, section 3.1.3.7), and the API server checks the signature.
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.client.errors import SignInError
from longhaul.client.profile import ProfileIssuer
from longhaul.client.tokens import Tokens

TIMEOUT_S = 30.0
LARGEST = 1024 * 1024
"""Largest answer in bytes."""
LATEST = 1e11
"""Latest time that a token may have, in seconds since 1970: the year 5138. Python's calendar ends with the year
9999."""
DISCOVERY = "/.well-known/openid-configuration"


class IssuerRefusedError(SignInError):
    """The issuer answered with an error of OAuth 2.0 (RFC 6749, section 5.2)."""

    def __init__(self, issuer: str, code: str, description: str) -> None:
        super().__init__(f"{issuer} refused: {code}{': ' if description else ''}{description[:300]}")
        self.reason = code
        """The error in the words of RFC 6749, such as ``invalid_grant``."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """An issuer and its endpoints."""

    issuer: ProfileIssuer
    authorization: str
    token: str
    device: str
    """Device authorization endpoint; empty when the issuer has none."""

    def exchange(self, form: Mapping[str, str], *, nonce: str = "", kept: str = "") -> Tokens:
        """Return the issuer's tokens for a grant. Raise ``IssuerRefusedError`` when the issuer refuses. ``kept`` is the
        refresh token to keep when the issuer returns none."""
        answer = post(self.issuer, self.token, {**form, "client_id": self.issuer.client_id})
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInError(f"{self.issuer.url} gave no ID token: is `openid` among the scopes?")
        claims = claims_of(token)
        check(self.issuer, claims, nonce=nonce)
        return Tokens(
            id_token=token, refresh_token=str(answer.get("refresh_token") or kept), ends=time.time() + life(claims)
        )

    def refresh(self, tokens: Tokens) -> Tokens:
        """Return fresh tokens for a refresh token."""
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
        return self.exchange(form, kept=tokens.refresh_token)


def discover(issuer: ProfileIssuer) -> Provider:
    """Ask an issuer for its endpoints. Raise ``SignInError`` when it does not answer, or with invalid metadata."""
    metadata = _send(issuer, issuer.url.rstrip("/") + DISCOVERY)
    if metadata.get("issuer") != issuer.url:
        raise SignInError(
            f"{issuer.url} calls itself {str(metadata.get('issuer'))[:200]!r}: the profile names another issuer"
        )
    endpoints = {
        key: str(metadata.get(f"{key}_endpoint") or "") for key in ("authorization", "token", "device_authorization")
    }
    if not all(url.startswith("https://") for key, url in endpoints.items() if url or key != "device_authorization"):
        raise SignInError(f"{issuer.url} names endpoints that are not https://")
    return Provider(
        issuer=issuer,
        authorization=endpoints["authorization"],
        token=endpoints["token"],
        device=endpoints["device_authorization"],
    )


def post(issuer: ProfileIssuer, url: str, form: Mapping[str, str]) -> dict[str, Any]:
    """Post a form to an endpoint of an issuer, and return its answer."""
    return _send(issuer, url, urllib.parse.urlencode(form).encode())


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token (RFC 7519). Raise ``SignInError`` when it cannot be parsed."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        if not isinstance(claims, dict):
            raise TypeError
    except (IndexError, ValueError, binascii.Error, TypeError, RecursionError):
        raise SignInError("the issuer's ID token cannot be read") from None
    return claims


def life(claims: Mapping[str, Any]) -> float:
    """Return the lifetime of a checked token, seconds."""
    return max(float(claims["exp"]) - float(claims["iat"]), 0.0)


def check(issuer: ProfileIssuer, claims: Mapping[str, Any], *, nonce: str) -> None:
    """Raise ``SignInError`` unless the claims are for this client."""
    audience = claims.get("aud")
    wrong = (
        claims.get("iss") != issuer.url
        or issuer.client_id not in (audience if isinstance(audience, list) else [audience])
        or (nonce and claims.get("nonce") != nonce)
        or not all(_is_time(claims.get(key)) for key in ("exp", "iat"))
    )
    if wrong:
        raise SignInError(f"{issuer.url} gave an ID token that is not for this sign-in")


def _is_time(value: object) -> bool:
    """Return whether the value is a plausible time, in seconds since 1970."""
    return isinstance(value, int | float) and 0 < value < LATEST


def _send(issuer: ProfileIssuer, url: str, content: bytes | None = None) -> dict[str, Any]:
    """Send a GET, or a POST with ``content``, to an endpoint, and return its answer. Use the proxies that environment
    variables name, as other programs do."""
    if not url.startswith("https://"):
        raise SignInError(f"{url} is not https://")
    request = urllib.request.Request(url, data=content)  # noqa: S310  (https alone, as just seen)
    context = ssl.create_default_context(cadata=issuer.certificate_authority or None)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirects())
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            body = answer.read(LARGEST)
    except urllib.error.HTTPError as error:
        raise _refused(issuer, error) from None
    except (OSError, ValueError) as error:
        raise SignInError(f"{issuer.url} does not answer: {getattr(error, 'reason', error)}") from None
    return _object(issuer, body)


def _refused(issuer: ProfileIssuer, error: urllib.error.HTTPError) -> SignInError:
    try:
        answer = json.loads(error.read(LARGEST))
        return IssuerRefusedError(issuer.url, str(answer["error"]), str(answer.get("error_description") or ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return SignInError(f"{issuer.url} answers with HTTP status {error.code}")


def _object(issuer: ProfileIssuer, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise SignInError(f"{issuer.url} does not answer as an issuer of OpenID Connect")
    return answer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: a request is for the issuer alone."""

    def redirect_request(self, *_words: Any, **_more: Any) -> None:
        """Refuse a redirection."""
        return
