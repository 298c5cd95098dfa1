"""Tunnels that end at a site's gateway in Azure. Fields: learn.microsoft.com, "Virtual Network Gateway Connections"
(``connectionStatus``, ``ingressBytesTransferred``, ``tunnelConnectionStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clouds.azure.names import resource_group_path
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.site import AzureSite
from clouds.azure.versions import NETWORK_VERSION
from clouds.azure.vpn_gateway import SIZES, GatewaySize, resize_refusal, throughput_words
from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.site import SiteBase
from clouds.base.throughput import GatewayChoice, ThroughputLimit
from clouds.base.tunnels import Risk, SiteTunnels, TunnelView, link_of
from contract.reasons.plan import FileReason

_HIGHLY_AVAILABLE = "learn.microsoft.com/azure/vpn-gateway/vpn-gateway-highlyavailable"
_SIZES = "learn.microsoft.com/azure/vpn-gateway/about-gateway-skus"


class AzureSiteTunnels(SiteTunnels[AzureSite]):
    """Tunnels to sites in Azure."""

    def ends(self, site: AzureSite) -> tuple[str, ...]:
        """Return the numbers of the gateway's active instances, as texts."""
        return tuple(map(str, range(gateway_addresses(site))))

    def is_single(self, site: AzureSite) -> bool:
        """Return True. Azure requires BGP for several connections to one site
        (learn.microsoft.com/azure/vpn-gateway/vpn-gateway-highlyavailable, "Multiple on-premises VPN devices"), and our
        routes are static."""
        return True

    def gateway_words(self, site: AzureSite) -> str:
        """Return the number of the gateway's active instances. A gateway with one has another in standby."""
        return "two active instances" if gateway_addresses(site) > 1 else "one active instance, one in standby"

    def views(self, place: Place[AzureSite], links: Sequence[str]) -> list[TunnelView]:
        """Return the site's connections. This takes one request for the list, which omits changing values, and one for
        each connection of the environment."""
        manager, base = ResourceManager(), f"{resource_group_path(place)}/providers/Microsoft.Network/connections"
        return [
            view_of(link, place.name, manager.get(f"{base}/{name}", version=NETWORK_VERSION))
            for name in sorted(str(page["name"]) for page in manager.pages(base, version=NETWORK_VERSION))
            if (link := link_of(place, name, links)) is not None
        ]

    def addresses(self, site: AzureSite) -> int:
        return gateway_addresses(site)

    def risks(self, place: Place[AzureSite], others: Mapping[str, SiteBase]) -> Iterator[Risk]:
        """Yield the risks of static routes, and of the number and size of the gateway's instances."""
        if not _holds_all(place.site, others):
            yield _undefined(place, others)
            return
        to = word_list(list(others))
        if gateway_addresses(place.site) == 1:
            yield Risk(
                reason=FileReason.ONE_GATEWAY_INSTANCE,
                what=f"The VPN gateway of {place.name} has one active instance.",
                where=f"sites.{place.name}",
                why="When the other one takes over, all of the site's tunnels break: for 10 to 15 s in maintenance, "
                f"for up to 3 minutes otherwise ({_HIGHLY_AVAILABLE}).",
                do="Two active instances need BGP, which Longhaul does not have yet.",
            )
        yield Risk(
            reason=FileReason.ROUTES_STATIC,
            what=f"Nothing takes over from the one connection of {place.name} to each of {to}.",
            where=f"sites.{place.name}",
            why="Its routes are static, and Azure documents several connections to one site with BGP only "
            f"({_HIGHLY_AVAILABLE}). When the other end fails, or AWS replaces its end, the link is down "
            "(docs/network.md).",
            do="Name a circuit of your own for a link that must not fail (`links`, kind existing).",
        )
        if place.site.existing.vpn_gateway is None:
            yield from _size_risks(place, to, len(others))

    def tunnel_limit(self, site: AzureSite) -> ThroughputLimit | None:
        """Return Azure's benchmark of one tunnel; None for a gateway that Longhaul did not make, whose size the file
        does not say."""
        size = _made_size(site)
        if size is None:
            return None
        of = f"one tunnel of {size.name} (Azure's benchmark)"
        return ThroughputLimit(mbit=size.tunnel_mbit, packets=size.tunnel_packets, of=of)

    def gateway_limit(self, site: AzureSite) -> ThroughputLimit | None:
        """Return Azure's benchmark of all tunnels of a gateway."""
        size = _made_size(site)
        return ThroughputLimit(mbit=size.total_mbit, of=f"{size.name} (Azure's benchmark)") if size else None

    def larger_gateways(self, site: AzureSite) -> Sequence[GatewayChoice]:
        """Return the larger sizes of a gateway that Longhaul makes."""
        present = _made_size(site)
        larger = list(SIZES.values())[list(SIZES).index(present.name) + 1 :] if present else ()
        return [
            GatewayChoice(
                setting=f"vpn_gateway_size: {size.name}", tunnel_mbit=size.tunnel_mbit, total_mbit=size.total_mbit
            )
            for size in larger
        ]

    def resize_refusal(self, before: AzureSite, after: AzureSite) -> str:
        """Return why Azure refuses the later size of the site's gateway; empty when it takes the size, or when one of
        the gateways is not Longhaul's."""
        if before.existing.vpn_gateway is not None or after.existing.vpn_gateway is not None:
            return ""
        return resize_refusal(before.vpn_gateway_size, after.vpn_gateway_size)


def _made_size(site: AzureSite) -> GatewaySize | None:
    return SIZES[site.vpn_gateway_size] if site.existing.vpn_gateway is None else None


def _size_risks(place: Place[AzureSite], to: str, connections: int) -> Iterator[Risk]:
    """Yield the risks of the size of a gateway that Longhaul makes. ``to`` names the sites at the other ends."""
    size, key = SIZES[place.site.vpn_gateway_size], f"sites.{place.name}.vpn_gateway_size"
    yield Risk(
        reason=FileReason.GATEWAY_THROUGHPUT,
        what=f"The VPN gateway of {place.name} carries {throughput_words(size)}, to and from {to}.",
        where=key,
        why=f"That is Azure's benchmark for {size.name} ({_SIZES}): reads of data or checkpoints across sites share it "
        "with the cluster's own traffic.",
        do="Keep data in the site that reads it, choose a larger `vpn_gateway_size`, or name a circuit of your own "
        "(`links`, kind existing).",
    )
    machines = sum(pool.max for pool in place.pools.values())
    if machines > size.machines:
        yield Risk(
            reason=FileReason.GATEWAY_MACHINES,
            what=f"{place.name} has up to {machines:,} machines, and Azure supports {size.machines:,} behind a VPN "
            f"gateway of the size {size.name}.",
            where=key,
            why=f"Azure promises nothing beyond that number ({_SIZES}), and each node reaches other sites through the "
            "gateway.",
            do="Choose a larger `vpn_gateway_size`, smaller pools, or a second site.",
        )
    if connections > size.connections:
        yield Risk(
            reason=FileReason.TOO_MANY_CONNECTIONS,
            what=f"The VPN gateway of {place.name} would have {connections} connections, of {size.connections}.",
            where=key,
            why=f"Azure refuses more ({_SIZES}).",
            do="Choose a larger `vpn_gateway_size` (100 connections from VpnGw4AZ on), declare circuits of your own "
            "between sites (`links`, kind existing), or fewer sites.",
            refused=True,
        )


def gateway_addresses(site: AzureSite) -> int:
    """Return the number of public addresses of the site's gateway, made or existing."""
    named = site.existing.vpn_gateway
    return 1 if named is None else len(named.addresses)


def view_of(link: str, site: str, connection: Mapping[str, Any]) -> TunnelView:
    """Return a connection as Azure's gateway sees it. The connection is up when one of the gateway's two instances is
    connected, because AWS expects a tunnel to only one instance."""
    properties = connection.get("properties", {})
    status = str(properties.get("connectionStatus", "Unknown"))
    established = [
        str(instance.get("lastConnectionEstablishedUtcTime") or "")
        for instance in properties.get("tunnelConnectionStatus") or []
        if instance.get("connectionStatus") == "Connected"
    ]
    up = status == "Connected"
    return TunnelView(
        link=link,
        site=site,
        name=str(connection.get("name", "")),
        up=up,
        since=max(established, default=""),
        # A connection that has carried nothing yet may have no counters.
        bytes_in=properties.get("ingressBytesTransferred") or 0,
        bytes_out=properties.get("egressBytesTransferred") or 0,
        reason="" if up else f"Azure says {status}",
    )


def _holds_all(site: AzureSite, others: Mapping[str, SiteBase]) -> bool:
    """Return whether each active instance has a tunnel to each site. A cloud's gateway at the other end expects one
    instance; the operator's own gateways have a tunnel to each instance."""
    return gateway_addresses(site) == 1 or all(other.gateways for other in others.values())


def _undefined(place: Place[AzureSite], others: Mapping[str, SiteBase]) -> Risk:
    return Risk(
        reason=FileReason.ACTIVE_WITHOUT_BGP,
        what=f"Both instances of the VPN gateway of {place.name} are active, without BGP to {word_list(list(others))}.",
        where=f"sites.{place.name}.existing.vpn_gateway",
        why="Azure gives each instance a share of the traffic, and an instance without a tunnel drops it; of several "
        f"connections to one site, the choice of the active one is documented with BGP only ({_HIGHLY_AVAILABLE}).",
        do="Switch the gateway to one active instance, and name its one address.",
        refused=True,
    )
