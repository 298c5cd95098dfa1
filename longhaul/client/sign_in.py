"""A person's token: the stored token, a refreshed token, or the token of a new sign-in."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from longhaul.client.errors import SignInError
from longhaul.client.tokens import EARLY_S, Tokens, TokenStore
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from longhaul.client.oidc import Provider
    from longhaul.client.profile import ProfileIssuer


def token_of(issuer: ProfileIssuer, place: str, *, device: bool, may_ask: bool, left_s: float = EARLY_S) -> Tokens:
    """Return stored tokens for a place that remain valid for ``left_s`` seconds, or else fresh tokens of any lifetime.
    Without ``may_ask``, raise ``SignInError`` instead of asking the person to sign in."""
    store = TokenStore(issuer, place)
    tokens = store.read()
    if tokens is not None and tokens.good(left_s):
        return tokens
    with store.lock():
        # Another program may have refreshed them while this one waited for the lock.
        tokens = store.read()
        if tokens is not None and tokens.good(left_s):
            return tokens
        # Imported late: most calls return above, and each should be quick.
        from longhaul.client.oidc import discover

        provider = discover(issuer)
        fresh = _refreshed(provider, tokens) if tokens is not None and tokens.refresh_token else None
        if fresh is None:
            if not may_ask:
                raise SignInError("your sign-in has expired, and there is no terminal to ask on: run `longhaul login`")
            fresh = _signed_in(provider, device=device)
        store.write(fresh)
        return fresh


def _refreshed(provider: Provider, tokens: Tokens) -> Tokens | None:
    """Return fresh tokens; None when the issuer requires a new sign-in."""
    from longhaul.client.oidc import IssuerRefusedError

    try:
        return provider.refresh(tokens)
    except IssuerRefusedError as error:
        if error.reason in ("invalid_grant", "interaction_required", "login_required"):
            return None
        raise


def _signed_in(provider: Provider, *, device: bool) -> Tokens:
    from longhaul.client import browser
    from longhaul.client import device as by_code

    if device:
        return by_code.sign_in(provider, show=say)
    return browser.sign_in(provider, show=_show)


def _show(url: str) -> None:
    """Open a page in the person's browser, and print its address, in case there is no browser."""
    import webbrowser

    say(f"sign in at {url}")
    # Only a desktop's browser opens a window; a text browser would occupy the terminal.
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        with suppress(webbrowser.Error):
            webbrowser.open(url)
