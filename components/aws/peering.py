"""Backbone between two AWS sites: VPC peering. It is not transitive, so every pair has its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from components.aws.vpn import AwsRoutes, AwsRoutesArgs


@dataclass(frozen=True, kw_only=True)
class AwsPeeringSide:
    """One of the two sites."""

    site_name: str
    region: str
    block: IPv4Network
    vpc_id: pulumi.Input[str]
    route_table_ids: Mapping[str, pulumi.Input[str]]
    """Id of each route table, by the suffix of its routes' names."""


@dataclass(frozen=True, kw_only=True)
class AwsPeeringArgs:
    """Arguments of a peering."""

    first: AwsPeeringSide
    """The side that requests the connection."""
    second: AwsPeeringSide
    """The side that accepts the connection, in the same account."""
    tags: Mapping[str, str]
    called: str | None = None
    """Name in the cloud; if left out, the name in the program."""


class AwsPeering(ComponentResource):
    """Connection, acceptance and the routes of both sides."""

    peering_id: Output[str]

    def __init__(self, name: str, args: AwsPeeringArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:Peering", name, None, opts)
        child = ResourceOptions(parent=self)
        tags = {**args.tags, "Name": args.called or name}
        connection = aws.ec2.VpcPeeringConnection(
            f"{name}-connection",
            region=args.first.region,
            vpc_id=args.first.vpc_id,
            peer_vpc_id=args.second.vpc_id,
            peer_region=args.second.region,
            tags=tags,
            opts=child,
        )
        accepter = aws.ec2.VpcPeeringConnectionAccepter(
            f"{name}-accepter",
            region=args.second.region,
            vpc_peering_connection_id=connection.id,
            auto_accept=True,
            tags=tags,
            opts=child,
        )
        # The accepter has the connection's id, but this id is known only once the connection is active. Before that,
        # EC2 refuses routes to the connection.
        self.peering_id = accepter.id
        for near, far in ((args.first, args.second), (args.second, args.first)):
            AwsRoutes(
                f"{name}-{near.site_name}",
                AwsRoutesArgs(
                    region=near.region,
                    route_table_ids=near.route_table_ids,
                    destination=far.block,
                    peering_id=self.peering_id,
                ),
                opts=child,
            )
        self.register_outputs({"peering_id": self.peering_id})
