"""Identities of machines in Azure, which other clouds can verify."""

from __future__ import annotations

from clouds.azure.site import AzureSite

HOST = "sts.windows.net"
"""Host of the issuer in Entra's tokens (their claim ``iss``)."""


def issuer(site: AzureSite) -> str:
    """Return the issuer of the tokens of machines at ``site``, without the scheme, as AWS names it."""
    return f"{HOST}/{site.tenant}/"


def scope(site: AzureSite) -> str:
    """Return the subscription's id."""
    return site.subscription
