"""Tunnels that end at a site of racks."""

from __future__ import annotations

from clouds.onprem.site import OnpremSite


def ends(site: OnpremSite) -> tuple[str, ...]:
    """Every gateway."""
    return tuple(gateway.name for gateway in site.gateways)
