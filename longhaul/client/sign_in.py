"""A person's token: the one that is kept, a fresh one for it, or that of a new sign-in."""

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
    """Return tokens for a place that can be used for ``left_s`` seconds, or fresh ones, whatever their life. Unless
    ``may_ask``, nobody is asked to sign in: ``SignInError`` says so then."""
    store = TokenStore(issuer, place)
    tokens = store.read()
    if tokens is not None and tokens.good(left_s):
        return tokens
    with store.held():
        # Another program may have had its turn.
        tokens = store.read()
        if tokens is not None and tokens.good(left_s):
            return tokens
        # Loaded here: hardly any call gets this far, and each should be quick.
        from longhaul.client.oidc import discover

        provider = discover(issuer)
        fresh = _refreshed(provider, tokens) if tokens is not None and tokens.refresh_token else None
        if fresh is None:
            if not may_ask:
                raise SignInError("you are not signed in any more, and there is nobody to ask: run `longhaul login`")
            fresh = _signed_in(provider, device=device)
        store.write(fresh)
        return fresh


def _refreshed(provider: Provider, tokens: Tokens) -> Tokens | None:
    """Return fresh tokens; None when the issuer wants the person to sign in anew."""
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
    """Open a page in the person's browser, and say it, in case there is none."""
    import webbrowser

    say(f"sign in at {url}")
    # Only a desktop has a browser that would come up by itself; a text browser would take the terminal.
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        with suppress(webbrowser.Error):
            webbrowser.open(url)
