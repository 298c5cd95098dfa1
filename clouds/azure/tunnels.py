"""Tunnels that end at a site's gateway in Azure."""

from __future__ import annotations

from clouds.azure.site import AzureSite

ADDRESSES = 2
"""Public addresses of a site's gateway, one for each of its instances, both of them active."""


def ends(_site: AzureSite, /) -> tuple[str, ...]:
    """Both instances of the gateway."""
    return tuple(map(str, range(ADDRESSES)))
