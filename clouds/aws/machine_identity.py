"""Identities of machines in AWS. No party outside AWS verifies them, so there is no issuer."""

from __future__ import annotations

from clouds.aws.site import AwsSite


def issuer(_site: AwsSite, /) -> str | None:
    """Return None."""
    return None


def scope(site: AwsSite) -> str:
    """Return the cloud's kind, the same for all accounts."""
    return site.kind
