"""Resources of an environment on Azure."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.azure.control_plane import AzureControlPlaneParts
from components.azure.links import AzureEnd, AzureLinked
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.azure.pool_access import AzureControllerAccess, PoolAccessArgs, ScaleSetAccess
from components.azure.pools import AzurePool, AzurePoolArgs
from components.control_plane.plane import ControlPlaneArgs, ControlPlaneComponent
from components.environment.cloud_resources import CloudResources, UserDataMaker
from components.environment.links import EndContext
from components.model import AddressPlan, Environment
from components.model.sites.cloud_names import pool_groups, pool_resource


class AzureResources(CloudResources):
    """The environment's sites on Azure, and its control plane."""

    def __init__(self, environment: Environment, addresses: AddressPlan, *, parent: pulumi.Resource) -> None:
        super().__init__(environment, addresses, parent=parent)
        self._networks: dict[str, SiteNetwork] = {}
        self._vaults: dict[str, pulumi.Resource] = {}

    def make_site(self, name: str) -> None:
        """Make a site's network."""
        self._networks[name] = SiteNetwork(
            f"{self._environment.name}-{name}",
            SiteNetworkArgs(
                environment=self._environment,
                addresses=self._addresses,
                site=name,
                control_plane=name == self._environment.control_plane.site,
            ),
            opts=self._child,
        )

    def make_control_plane(self) -> ControlPlaneComponent:
        """Make the control plane in its site's network."""
        site = self._environment.control_plane.site
        parts = AzureControlPlaneParts(self._environment, self._addresses, self._networks[site])
        args = ControlPlaneArgs(environment=self._environment, addresses=self._addresses, parts=parts)
        plane = ControlPlaneComponent(f"{self._environment.name}-control-plane", args, opts=self._child)
        self._vaults[site] = plane.vault
        return plane

    def make_pools(self, site: str, user_data: UserDataMaker) -> None:
        """Make a site's pools."""
        network = self._networks[site]
        for name, pool in self._environment.pools.items():
            if pool.site == site:
                AzurePool(
                    pool_resource(self._environment, name),
                    AzurePoolArgs(
                        environment=self._environment,
                        pool_name=name,
                        resource_group=network.resource_group,
                        subnet_id=network.subnet_ids["nodes"],
                        security_group_id=network.interface_rules.get("nodes"),
                        custom_data={
                            group.name: user_data(name, group=group.name)
                            for group in pool_groups(self._environment, name)
                        },
                        tags=site_tags(self._environment, site),
                    ),
                    opts=self._child,
                )

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the node controller read the machines of pools."""
        AzureControllerAccess(
            f"{self._environment.name}-controller-access", self._pool_access(principal_ids), opts=self._child
        )
        return {}

    def admit_autoscaler(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the autoscaler size the scale sets of pools."""
        ScaleSetAccess(
            f"{self._environment.name}-autoscaler-access", self._pool_access(principal_ids), opts=self._child
        )
        return {}

    def _pool_access(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> PoolAccessArgs:
        return PoolAccessArgs(
            environment=self._environment,
            principal_ids=principal_ids,
            resource_groups={name: network.resource_group for name, network in self._networks.items()},
        )

    def link_end(self, place: EndContext) -> AzureEnd:
        """Make a site's end of its links."""
        network, site = self._networks[place.site], azure_site(self._environment, place.site)
        linked = AzureLinked(
            region=site.region,
            zones=site.zones,
            resource_group=network.resource_group,
            network_id=network.network_id,
            network_name=network.network_name,
            network_group=network.network_group,
            after=[network, *([self._vaults[place.site]] if place.site in self._vaults else ())],
        )
        return AzureEnd(linked, place)
