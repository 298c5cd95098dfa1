"""Identities that machines of Nimbus have, by which others know them."""

from __future__ import annotations

from nimbus.site import NimbusSite


def issuer(site: NimbusSite, /) -> str | None:
    """The project's own."""
    return f"tokens.nimbus.invalid/{site.project}"


def scope(site: NimbusSite, /) -> str:
    """The project."""
    return site.project
