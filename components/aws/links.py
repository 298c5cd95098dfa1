"""Links of AWS sites: a site's gateway gives addresses and keys to each connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pulumi
from pulumi import Output

from clouds.base.tags import environment_tags, site_tags
from components.aws.account import aws_site
from components.aws.existing_lookups import existing_vpn_gateway
from components.aws.peering import AwsPeering, AwsPeeringArgs, AwsPeeringSide
from components.aws.vpn import (
    AwsRoutes,
    AwsRoutesArgs,
    AwsVpnGateway,
    AwsVpnGatewayArgs,
    AwsVpnPeer,
    AwsVpnPeerArgs,
)
from components.environment.links import EndContext, Remote, Tunnel, VaultTunnelKeys, trusted_keys, used_key


@dataclass(frozen=True, kw_only=True)
class AwsLinked:
    """Network of a site with links."""

    region: str
    vpc_id: pulumi.Input[str]
    route_table_ids: Mapping[str, pulumi.Input[str]]
    """Id of each route table, by the suffix of its routes' names."""


class AwsEnd:
    """The end of an AWS site."""

    def __init__(self, linked: AwsLinked, place: EndContext) -> None:
        self._linked, self._place = linked, place

    @property
    def side(self) -> AwsPeeringSide:
        """Return what a peering needs to know about this end."""
        return AwsPeeringSide(
            site_name=self._place.site,
            region=self._linked.region,
            block=self._place.block(self._place.site),
            vpc_id=self._linked.vpc_id,
            route_table_ids=self._linked.route_table_ids,
        )

    def peer(self, name: str, far: AwsEnd) -> None:
        """Connect two sites by peering."""
        place = self._place
        args = AwsPeeringArgs(
            first=self.side, second=far.side, tags=environment_tags(place.environment), called=place.called(name)
        )
        AwsPeering(name, args, opts=place.opts)

    def dial(
        self, name: str, far: str, remotes: Sequence[Remote], keys: Callable[[str], VaultTunnelKeys]
    ) -> Mapping[str, Sequence[Tunnel]]:
        """Make a connection of two tunnels to each remote address, and the routes to the far site. Return the tunnels
        by the remote's label."""
        given = {remote.label: self._connection(f"{name}-{remote.label}", far, remote, keys) for remote in remotes}
        args = AwsRoutesArgs(
            region=self._linked.region,
            route_table_ids=self._linked.route_table_ids,
            destination=self._place.block(far),
            gateway_id=self._gateway_id,
        )
        AwsRoutes(f"{name}-{self._place.site}", args, opts=self._place.opts)
        return given

    def _connection(
        self, name: str, far: str, remote: Remote, keys: Callable[[str], VaultTunnelKeys]
    ) -> Sequence[Tunnel]:
        place = self._place
        args = AwsVpnPeerArgs(
            region=self._linked.region,
            gateway_id=self._gateway_id,
            remote_address=remote.address,
            local=place.block(place.site),
            remote=place.block(far),
            keys=(keys(f"{remote.label}-0"), keys(f"{remote.label}-1")),
            tags=site_tags(place.environment, place.site),
            called=place.called(name),
        )
        made = AwsVpnPeer(name, args, opts=place.opts)
        return [
            Tunnel(
                label=str(number), address=tunnel.address, key=used_key(tunnel.keys), others=trusted_keys(tunnel.keys)
            )
            for number, tunnel in enumerate(made.tunnels)
        ]

    @cached_property
    def _gateway_id(self) -> Output[str]:
        """Return the id of the site's gateway, made here or existing."""
        place, region = self._place, self._linked.region
        named, own_tags = aws_site(place.environment, place.site).existing, site_tags(place.environment, place.site)
        if named.vpn_gateway is not None:
            return existing_vpn_gateway(
                named.vpn_gateway, named.vpc, region=region, site_name=place.site, parent=place.parent
            )
        called = place.called(place.name)
        args = AwsVpnGatewayArgs(region=region, vpc_id=self._linked.vpc_id, tags=own_tags, called=called)
        return AwsVpnGateway(place.name, args, opts=place.opts).gateway_id
