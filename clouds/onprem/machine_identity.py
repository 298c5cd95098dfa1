"""Identities that machines of racks have, by which others know them: none but their certificates."""

from __future__ import annotations

from clouds.onprem.site import OnpremSite


def issuer(_site: OnpremSite, /) -> str | None:
    """None."""
    return None


def scope(site: OnpremSite) -> str:
    """All of them."""
    return site.kind
