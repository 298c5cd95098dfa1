"""Identities that machines of AWS have, by which others know them: none outside AWS."""

from __future__ import annotations

from clouds.aws.site import AwsSite


def issuer(_site: AwsSite, /) -> str | None:
    """None."""
    return None


def scope(site: AwsSite) -> str:
    """All of AWS."""
    return site.kind
