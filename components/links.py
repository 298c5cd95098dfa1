"""Links between sites: every pair, by the cloud's backbone or by IPsec, as the model plans them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from components.aws.account import aws_site
from components.aws.existing import existing_vpn_gateway
from components.aws.peering import AwsPeering, AwsPeeringArgs, AwsPeeringSide
from components.aws.vpn import (
    AwsRoutes,
    AwsRoutesArgs,
    AwsVpnGateway,
    AwsVpnGatewayArgs,
    AwsVpnPeer,
    AwsVpnPeerArgs,
)
from components.azure.existing import existing_gateway
from components.azure.names import azure_existing
from components.azure.peering import AzurePeering, AzurePeeringArgs, AzurePeeringSide
from components.azure.vpn import AzureVpnGateway, AzureVpnGatewayArgs, AzureVpnPeer, AzureVpnPeerArgs
from components.model import AddressPlan, Environment
from components.model.groups import cloud_name
from components.model.links import LinkKind, PlannedLink, links
from components.onprem.vpn import OnpremTunnel, gateways, tunnels_export


@dataclass(frozen=True, kw_only=True)
class AwsEnd:
    """An AWS site's network, as links need it."""

    region: str
    vpc_id: pulumi.Input[str]
    route_table_ids: Mapping[str, pulumi.Input[str]]
    """Ids by what ends their routes' names."""


@dataclass(frozen=True, kw_only=True)
class AzureEnd:
    """An Azure site's network, as links need it."""

    region: str
    zones: Sequence[str]
    resource_group: pulumi.Input[str]
    network_id: pulumi.Input[str]
    network_name: pulumi.Input[str]
    network_group: pulumi.Input[str] | None = None
    """The group that the network is in; left out, the site's own."""
    after: Sequence[Resource] = ()
    """What changes the network itself, which Azure allows one at a time: the component that makes it."""


@dataclass(frozen=True, kw_only=True)
class AzureGateway:
    """The gateway of an Azure site, made here or there already."""

    id: pulumi.Input[str]
    addresses: Sequence[pulumi.Input[str]]
    """Public address of each instance."""


@dataclass(frozen=True, kw_only=True)
class LinksArgs:
    """What is to be linked."""

    environment: Environment
    addresses: AddressPlan
    aws: Mapping[str, AwsEnd]
    """Every AWS site."""
    azure: Mapping[str, AzureEnd]
    """Every Azure site."""
    tunnel_key: Callable[[str], pulumi.Input[str]]
    """Makes the pre-shared key of a connection that AWS has no part in, given its name in the vault."""
    tags: Mapping[str, str]


class Links(ComponentResource):
    """Gateways where a site has an IPsec link, then each link."""

    gateway_addresses: Mapping[str, Sequence[pulumi.Input[str]]]
    """Public addresses of each Azure and on-prem site's gateways; AWS has two for each connection."""
    onprem_tunnels: Mapping[str, Output[list[dict[str, object]]]]
    """By host name of each on-prem gateway, the tunnels it holds, secret: what Ansible renders."""

    def __init__(self, name: str, args: LinksArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:Links", name, None, opts)
        self._name, self._args, self._child = name, args, ResourceOptions(parent=self)
        self._kinds = {site: declared.kind for site, declared in args.environment.sites.items()}
        planned = links(args.environment)
        linked = {site for link in planned if link.kind is LinkKind.IPSEC for site in (link.first, link.second)}
        self._aws_gateways = {site: self._aws_gateway(site) for site in args.aws if site in linked}
        self._azure_gateways = {site: self._azure_gateway(site) for site in args.azure if site in linked}
        self._tunnels: list[OnpremTunnel] = []
        for link in planned:
            self._link(link)
        self.gateway_addresses = {site: gateway.addresses for site, gateway in self._azure_gateways.items()} | {
            site: [str(gateway.address) for gateway in gateways(args.environment, site)]
            for site, kind in self._kinds.items()
            if kind == "onprem"
        }
        self.onprem_tunnels = tunnels_export(args.environment, args.addresses, self._tunnels)
        self.register_outputs({})

    def _aws_gateway(self, site: str) -> Output[str]:
        end = self._args.aws[site]
        there = aws_site(self._args.environment, site).existing
        name = f"{self._name}-{site}"
        if there.vpn_gateway is not None:
            return existing_vpn_gateway(there.vpn_gateway, there.vpc, region=end.region, site_name=site, parent=self)
        tags, called = self._tags(site), self._called(name)
        args = AwsVpnGatewayArgs(region=end.region, vpc_id=end.vpc_id, tags=tags, called=called)
        return AwsVpnGateway(name, args, opts=self._child).gateway_id

    def _azure_gateway(self, site: str) -> AzureGateway:
        end, there = self._args.azure[site], azure_existing(self._args.environment, site)
        if there.vpn_gateway is not None and there.network is not None:
            own = existing_gateway(there.vpn_gateway, site=site, network_id=there.network, parent=self)
            return AzureGateway(id=own, addresses=tuple(map(str, there.vpn_gateway.addresses)))
        subnet = there.subnets.gateway
        args = AzureVpnGatewayArgs(
            region=end.region,
            zones=end.zones,
            resource_group=end.resource_group,
            network_name=end.network_name,
            subnet=self._args.addresses.sites[site].subnet("gateway"),
            tags=self._tags(site),
            after=end.after,
            called=self._called(f"{self._name}-{site}"),
            network_group=end.network_group,
            subnet_id=Output.concat(end.network_id, "/subnets/", subnet) if subnet else None,
        )
        made = AzureVpnGateway(f"{self._name}-{site}", args, opts=self._child)
        return AzureGateway(id=made.gateway_id, addresses=made.addresses)

    def _called(self, name: str) -> str:
        return cloud_name(self._args.environment, name)

    def _tags(self, site: str) -> dict[str, str]:
        return {**self._args.tags, "longhaul-site": site}

    def _link(self, link: PlannedLink) -> None:
        """Make one link. The ends are ordered by kind, so that each kind of pair is written once."""
        first, second = sorted((link.first, link.second), key=lambda site: self._kinds[site])
        kinds = (self._kinds[first], self._kinds[second])
        name = f"{self._name}-{link.name}"
        match link.kind, kinds:
            case LinkKind.EXISTING, _:
                return
            case LinkKind.BACKBONE, ("aws", "aws"):
                self._aws_backbone(name, first, second)
            case LinkKind.BACKBONE, ("azure", "azure"):
                self._azure_backbone(name, first, second)
            case LinkKind.IPSEC, ("aws", "azure"):
                self._aws_azure(name, first, second)
            case LinkKind.IPSEC, ("aws", "onprem"):
                self._aws_onprem(name, first, second)
            case LinkKind.IPSEC, ("azure", "onprem"):
                self._azure_onprem(name, first, second)
            case LinkKind.IPSEC, ("onprem", "onprem"):
                self._onprem_onprem(first, second)
            case _:
                raise NotImplementedError(f"link {link.name}: {link.kind} between {kinds[0]} and {kinds[1]}")

    def _aws_backbone(self, name: str, first: str, second: str) -> None:
        def side(site: str) -> AwsPeeringSide:
            end = self._args.aws[site]
            return AwsPeeringSide(
                site_name=site,
                region=end.region,
                block=self._args.addresses.sites[site].block,
                vpc_id=end.vpc_id,
                route_table_ids=end.route_table_ids,
            )

        called = self._called(name)
        args = AwsPeeringArgs(first=side(first), second=side(second), tags=self._args.tags, called=called)
        AwsPeering(name, args, opts=self._child)

    def _azure_backbone(self, name: str, first: str, second: str) -> None:
        def side(site: str) -> AzurePeeringSide:
            end = self._args.azure[site]
            return AzurePeeringSide(
                site_name=site,
                resource_group=end.network_group or end.resource_group,
                network_name=end.network_name,
                network_id=end.network_id,
                peering_name=self._called(site),
            )

        AzurePeering(name, AzurePeeringArgs(first=side(first), second=side(second)), opts=self._child)

    def _aws_azure(self, name: str, aws: str, azure: str) -> None:
        """AWS takes one remote address a connection and gives it two tunnels; Azure has two addresses and takes one
        remote address a connection. So two connections in AWS, four in Azure, a key each. (Of an Azure connection's two
        instances, only the one that AWS expects there comes up.) Azure documents several connections to one site with
        BGP alone: that one takes over from another with static routes was seen in the lab only."""
        for index, address in enumerate(self._azure_gateways[azure].addresses):
            peer = self._aws_peer(f"{name}-{index}", aws, azure, address)
            for number, tunnel in enumerate(peer.tunnels):
                self._azure_peer(f"{name}-{index}-{number}", azure, aws, address=tunnel.address, key=tunnel.key)
        self._aws_routes(name, aws, azure)

    def _aws_onprem(self, name: str, aws: str, onprem: str) -> None:
        for gateway in gateways(self._args.environment, onprem):
            peer = self._aws_peer(f"{name}-{gateway.name}", aws, onprem, str(gateway.address))
            for number, tunnel in enumerate(peer.tunnels):
                self._tunnels.append(
                    OnpremTunnel(
                        name=f"{aws}-{gateway.name}-{number}",
                        site=onprem,
                        gateway=gateway.name,
                        remote_site=aws,
                        remote_address=tunnel.address,
                        key=tunnel.key,
                    )
                )
        self._aws_routes(name, aws, onprem)

    def _azure_onprem(self, name: str, azure: str, onprem: str) -> None:
        """A connection to each of the site's gateways, from both of Azure's instances: Azure has one key for the
        two."""
        for gateway in gateways(self._args.environment, onprem):
            key = self._key(f"{azure}-{onprem}-{gateway.name}")
            self._azure_peer(f"{name}-{gateway.name}", azure, onprem, address=str(gateway.address), key=key)
            for number, address in enumerate(self._azure_gateways[azure].addresses):
                self._tunnels.append(
                    OnpremTunnel(
                        name=f"{azure}-{gateway.name}-{number}",
                        site=onprem,
                        gateway=gateway.name,
                        remote_site=azure,
                        remote_address=address,
                        key=key,
                    )
                )

    def _onprem_onprem(self, first: str, second: str) -> None:
        """Racks at both ends: a tunnel between each two gateways, nothing in any cloud but the key."""
        environment = self._args.environment
        for near in gateways(environment, first):
            for far in gateways(environment, second):
                key = self._key(f"{first}-{near.name}-{second}-{far.name}")
                for site, own, other_site, other in ((first, near, second, far), (second, far, first, near)):
                    self._tunnels.append(
                        OnpremTunnel(
                            name=f"{other_site}-{own.name}-{other.name}",
                            site=site,
                            gateway=own.name,
                            remote_site=other_site,
                            remote_address=str(other.address),
                            key=key,
                        )
                    )

    def _key(self, ends: str) -> Output[str]:
        return Output.secret(self._args.tunnel_key(f"tunnel-{ends}"))

    def _aws_peer(self, name: str, near: str, far: str, address: pulumi.Input[str]) -> AwsVpnPeer:
        args = AwsVpnPeerArgs(
            region=self._args.aws[near].region,
            gateway_id=self._aws_gateways[near],
            remote_address=address,
            local=self._args.addresses.sites[near].block,
            remote=self._args.addresses.sites[far].block,
            tags=self._tags(near),
            called=self._called(name),
        )
        return AwsVpnPeer(name, args, opts=self._child)

    def _aws_routes(self, name: str, near: str, far: str) -> None:
        end = self._args.aws[near]
        args = AwsRoutesArgs(
            region=end.region,
            route_table_ids=end.route_table_ids,
            destination=self._args.addresses.sites[far].block,
            gateway_id=self._aws_gateways[near],
        )
        AwsRoutes(f"{name}-{near}", args, opts=self._child)

    def _azure_peer(
        self, name: str, near: str, far: str, *, address: pulumi.Input[str], key: pulumi.Input[str]
    ) -> None:
        end = self._args.azure[near]
        args = AzureVpnPeerArgs(
            region=end.region,
            resource_group=end.resource_group,
            gateway_id=self._azure_gateways[near].id,
            remote_address=address,
            local=self._args.addresses.sites[near].block,
            remote=self._args.addresses.sites[far].block,
            key=key,
            tags=self._tags(near),
            called=self._called(name),
        )
        AzureVpnPeer(name, args, opts=self._child)
