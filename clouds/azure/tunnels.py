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

ADDRESSES = 2
"""Number of public addresses of a site's gateway, one for each of its two active instances."""


def ends(_site: AzureSite, /) -> tuple[str, ...]:
    """Return the numbers of the gateway's two instances, as texts."""
    return tuple(map(str, range(ADDRESSES)))


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
    return len(named.addresses) if named else ADDRESSES
