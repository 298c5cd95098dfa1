"""Links of Azure sites. A site has one gateway, whose addresses share one key for each gateway of another site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pulumi
from pulumi import Output, Resource, ResourceOptions

from clouds.azure.vpn_gateway import SIZES
from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.azure.existing_lookups import existing_gateway
from components.azure.peering import AzurePeering, AzurePeeringArgs, AzurePeeringSide
from components.azure.vpn import AzureVpnGateway, AzureVpnGatewayArgs, AzureVpnPeer, AzureVpnPeerArgs
from components.environment.links import EndContext, LinkGateway, Tunnel


@dataclass(frozen=True, kw_only=True)
class AzureLinked:
    """Network of a site with links."""

    region: str
    zones: Sequence[str]
    resource_group: pulumi.Input[str]
    network_id: pulumi.Input[str]
    network_name: pulumi.Input[str]
    network_group: pulumi.Input[str] | None = None
    """Resource group of the network; if left out, the site's own."""
    after: Sequence[Resource] = ()
    """Resources that change the network: the component that makes it. Changes by links wait for them, because Azure
    allows one change of a network at a time."""


class AzureEnd:
    """The end of an Azure site. Azure makes one change of a network at a time, and one change of a gateway's
    connections at a time, so each change waits for the one before."""

    def __init__(self, linked: AzureLinked, place: EndContext) -> None:
        self._linked, self._place = linked, place
        self._changes: Sequence[Resource] = linked.after
        self._connections: Sequence[Resource] = ()

    @property
    def side(self) -> AzurePeeringSide:
        """Return what a peering needs to know about this end."""
        return AzurePeeringSide(
            site_name=self._place.site,
            resource_group=self._linked.network_group or self._linked.resource_group,
            network_name=self._linked.network_name,
            network_id=self._linked.network_id,
            peering_name=self._place.called(self._place.site),
        )

    def peer(self, name: str, far: AzureEnd) -> None:
        """Connect two sites by peering."""
        after = [*self._changes, *far._changes]
        made = AzurePeering(
            name, AzurePeeringArgs(first=self.side, second=far.side, after=after), opts=self._place.opts
        )
        self._changes = far._changes = [made]

    def gateways(self) -> Sequence[LinkGateway]:
        """Return the site's one gateway."""
        _, addresses = self._gateway
        return [LinkGateway(addresses=addresses)]

    def hold(self, name: str, _gateway: LinkGateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        """Make a connection to the address of each tunnel. Every active instance of the gateway uses the connection's
        one key."""
        place, linked = self._place, self._linked
        gateway_id, _ = self._gateway
        for tunnel in tunnels:
            tunnel_name = f"{name}-{tunnel.label}"
            args = AzureVpnPeerArgs(
                region=linked.region,
                resource_group=linked.resource_group,
                gateway_id=gateway_id,
                remote_address=tunnel.address,
                local=place.block(place.site),
                remote=place.block(far),
                key=tunnel.key,
                tags=site_tags(place.environment, place.site),
                called=place.called(tunnel_name),
            )
            opts = ResourceOptions.merge(place.opts, ResourceOptions(depends_on=self._connections))
            self._connections = [AzureVpnPeer(tunnel_name, args, opts=opts)]

    @cached_property
    def _gateway(self) -> tuple[Output[str], Sequence[pulumi.Input[str]]]:
        """Return the id and the public addresses of the site's gateway, made here or existing."""
        place, linked = self._place, self._linked
        site = azure_site(place.environment, place.site)
        there = site.existing
        if there.vpn_gateway is not None and there.network is not None:
            gateway = existing_gateway(
                there.vpn_gateway, site=place.site, network_id=there.network, parent=place.parent
            )
            return gateway, tuple(map(str, there.vpn_gateway.addresses))
        subnet = there.subnets.gateway
        args = AzureVpnGatewayArgs(
            region=linked.region,
            zones=linked.zones,
            size=SIZES[site.vpn_gateway_size],
            resource_group=linked.resource_group,
            network_name=linked.network_name,
            subnet=place.addresses.sites[place.site].subnet("gateway"),
            tags=site_tags(place.environment, place.site),
            after=self._changes,
            called=place.called(place.name),
            network_group=linked.network_group,
            subnet_id=Output.concat(linked.network_id, "/subnets/", subnet) if subnet else None,
        )
        made = AzureVpnGateway(place.name, args, opts=place.opts)
        self._changes = [made.subnet] if made.subnet else self._changes
        return made.gateway_id, (made.address,)
