"""Sign-in on another machine, for a machine without a browser (device authorization grant, RFC 8628)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from longhaul.client.errors import SignInError
from longhaul.client.oidc import IssuerRefusedError, Provider, post
from longhaul.client.tokens import Tokens

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
INTERVAL_S, SLOWER_S = 5.0, 5.0
"""Seconds between polls unless the issuer says otherwise, and seconds to add when it answers ``slow_down`` (RFC 8628,
sections 3.2 and 3.5)."""


def sign_in(
    provider: Provider, *, show: Callable[[str], object], wait: Callable[[float], object] = time.sleep
) -> Tokens:
    """Show the person an address and a code, and return the tokens of the person who signs in with them."""
    issuer = provider.issuer
    if not provider.device:
        raise SignInError(f"{issuer.url} does not know sign-in by a code: leave --device out")
    answer = post(issuer, provider.device, {"client_id": issuer.client_id, "scope": " ".join(issuer.scopes)})
    try:
        code, left = str(answer["device_code"]), float(answer["expires_in"])
        interval = float(answer.get("interval", INTERVAL_S))
        show(_invitation(answer))
    except (KeyError, TypeError, ValueError):
        raise SignInError(f"{issuer.url} does not answer as RFC 8628 says") from None
    while left > 0:
        wait(interval)
        left -= interval
        try:
            return provider.exchange({"grant_type": GRANT, "device_code": code})
        except IssuerRefusedError as error:
            if error.reason not in ("authorization_pending", "slow_down"):
                raise
            interval += SLOWER_S if error.reason == "slow_down" else 0.0
    raise SignInError("nobody signed in before the code expired: try again")


def _invitation(answer: dict[str, Any]) -> str:
    url = str(answer.get("verification_uri") or answer["verification_url"])
    return f"open {url} in a browser, on any machine, and enter {answer['user_code']}"
