"""Identities that machines in Azure have, by which others know them."""

from __future__ import annotations

from clouds.azure.site import AzureSite

HOST = "sts.windows.net"
"""Where Entra's tokens say that they come from (their claim ``iss``)."""


def issuer(site: AzureSite) -> str:
    """The issuer of the tokens of machines at ``site``, as AWS names it: without the scheme."""
    return f"{HOST}/{site.tenant}/"


def scope(site: AzureSite) -> str:
    """The subscription."""
    return site.subscription
