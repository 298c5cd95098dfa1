"""Backbone between two Azure sites: virtual network peering. It is not transitive, so every pair has its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Resource, ResourceOptions
from pulumi_azure_native import network


@dataclass(frozen=True, kw_only=True)
class AzurePeeringSide:
    """One of the two sites."""

    site_name: str
    resource_group: pulumi.Input[str]
    """Resource group of the network."""
    network_name: pulumi.Input[str]
    network_id: pulumi.Input[str]
    peering_name: str
    """Name of the peering with this side, in the other side's network."""


@dataclass(frozen=True, kw_only=True)
class AzurePeeringArgs:
    """Arguments of a peering."""

    first: AzurePeeringSide
    second: AzurePeeringSide
    after: Sequence[Resource] = ()
    """Resources that change one of the networks. The peering waits for them, because Azure makes one change of a
    network at a time."""


class AzurePeering(ComponentResource):
    """A peering from each side, one after the other; Azure makes the routes."""

    def __init__(self, name: str, args: AzurePeeringArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:Peering", name, None, opts)
        after = list(args.after)
        for near, far in ((args.first, args.second), (args.second, args.first)):
            half = network.VirtualNetworkPeering(
                f"{name}-{near.site_name}",
                virtual_network_peering_name=far.peering_name,
                resource_group_name=near.resource_group,
                virtual_network_name=near.network_name,
                remote_virtual_network=network.SubResourceArgs(id=far.network_id),
                allow_virtual_network_access=True,
                # Each site has its own gateway and its own links: nothing is forwarded for a third site.
                allow_forwarded_traffic=False,
                allow_gateway_transit=False,
                use_remote_gateways=False,
                opts=ResourceOptions(parent=self, depends_on=after),
            )
            after = [half]
        self.register_outputs({})
