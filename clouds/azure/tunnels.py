"""Tunnels that end at a site's gateway in Azure. Fields: learn.microsoft.com, "Virtual Network Gateway Connections"
(``connectionStatus``, ``ingressBytesTransferred``, ``tunnelConnectionStatus``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clouds.azure.names import resource_group_path
from clouds.azure.session import ResourceManager
from clouds.azure.site import AzureSite
from clouds.base.place import Place
from clouds.base.tunnels import TunnelView, link_of

NETWORK_VERSION = "2024-05-01"

ACTIVE_ACTIVE = 2
"""Number of public addresses of a gateway with both instances active, one for each."""


def ends(site: AzureSite, /) -> tuple[str, ...]:
    """Return the numbers of the gateway's active instances, as texts."""
    return tuple(map(str, range(addresses(site))))


def is_single(site: AzureSite, /) -> bool:
    """Return True unless the file says otherwise. Azure requires BGP for several connections to one site
    (learn.microsoft.com/azure/vpn-gateway/vpn-gateway-highlyavailable, "Multiple on-premises VPN devices"), and our
    routes are static."""
    return not site.vpn.active_active


def seen(place: Place[AzureSite], links: Sequence[str]) -> list[TunnelView]:
    """Return the site's connections. This takes one request for the list, which omits changing values, and one for each
    connection of the environment."""
    manager, base = ResourceManager(), f"{resource_group_path(place)}/providers/Microsoft.Network/connections"
    return [
        seen_of(link, place.name, manager.get(f"{base}/{name}", version=NETWORK_VERSION))
        for name in sorted(str(one["name"]) for one in manager.pages(base, version=NETWORK_VERSION))
        if (link := link_of(place, name, links)) is not None
    ]


def seen_of(link: str, site: str, connection: Mapping[str, Any]) -> TunnelView:
    """Return a connection as Azure's gateway sees it. It is up when one of its two instances is connected, because AWS
    expects only one."""
    properties = connection.get("properties", {})
    status = str(properties.get("connectionStatus", "Unknown"))
    established = [
        str(one.get("lastConnectionEstablishedUtcTime") or "")
        for one in properties.get("tunnelConnectionStatus") or []
        if one.get("connectionStatus") == "Connected"
    ]
    up = status == "Connected"
    return TunnelView(
        link=link,
        site=site,
        name=str(connection.get("name", "")),
        up=up,
        since=max(established, default=""),
        bytes_in=properties.get("ingressBytesTransferred"),
        bytes_out=properties.get("egressBytesTransferred"),
        reason="" if up else f"Azure says {status}",
    )


def addresses(site: AzureSite, /) -> int:
    """Return the number of public addresses of the site's gateway, made or existing."""
    named = site.existing.vpn_gateway
    if named is not None:
        return len(named.addresses)
    return ACTIVE_ACTIVE if site.vpn.active_active else 1
