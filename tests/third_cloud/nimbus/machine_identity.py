"""Identities of machines in Nimbus, by which others know them."""

from __future__ import annotations

from nimbus.site import NimbusSite


def issuer(site: NimbusSite, /) -> str | None:
    """Return the issuer: each project has its own."""
    return f"tokens.nimbus.invalid/{site.project}"


def scope(site: NimbusSite, /) -> str:
    """Return the scope: the project."""
    return site.project
