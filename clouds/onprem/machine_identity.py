"""Identities of hosts. They have only their certificates, which no cloud verifies."""

from __future__ import annotations

from clouds.onprem.site import OnpremSite


def issuer(_site: OnpremSite, /) -> str | None:
    """Return None."""
    return None


def scope(site: OnpremSite) -> str:
    """Return the cloud's kind, the same for all hosts."""
    return site.kind
