"""The whole environment: every site's network, the control plane, pools and links."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from components.aws.account import account_provider
from components.aws.controller import NodeControllerAccess, NodeControllerAccessArgs
from components.aws.site import AwsWorkerSite, AwsWorkerSiteArgs
from components.azure import names
from components.azure.controller import AzureControllerAccess, AzureControllerAccessArgs
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.azure.pools import AzurePool, AzurePoolArgs
from components.control_plane.plane import ControlPlane, ControlPlaneArgs
from components.control_plane.secrets import TunnelKey
from components.held import holding
from components.links import AwsEnd, AzureEnd, Links, LinksArgs
from components.model import Environment, plan
from components.model.groups import pool_groups, pool_resource
from components.render import pool_user_data


class Cluster(ComponentResource):
    """An environment."""

    outputs: Mapping[str, pulumi.Input[object]]
    """What the stack exports."""

    def __init__(self, environment: Environment, opts: ResourceOptions | None = None) -> None:
        addresses = plan(environment)
        guarded = ResourceOptions.merge(opts, holding(environment, addresses))
        super().__init__("longhaul:Cluster", environment.name, None, guarded)
        self._environment, self._addresses = environment, addresses
        self._child = ResourceOptions(parent=self)
        provider = account_provider(environment, self._child)
        self._with_account = ResourceOptions(parent=self, providers=[provider] if provider else None)
        self._azure = self._azure_sites()
        control = self._control_plane()
        self._kubernetes_ca = control.authorities["kubernetes"].certificate
        self._aws = self._aws_sites()
        self._azure_pools()
        self.outputs = {
            "api": f"https://{environment.api_name}:{environment.control_plane.api.port}",
            "vault": control.vault_url,
            "kubernetes_ca": self._kubernetes_ca,
            "certificates": {name: issued.not_after for name, issued in control.certificates.items()},
            **self._controller_access(control),
            **self._links(control),
        }
        self.register_outputs({})

    def _azure_sites(self) -> dict[str, SiteNetwork]:
        return {
            name: SiteNetwork(
                f"{self._environment.name}-{name}",
                SiteNetworkArgs(
                    environment=self._environment,
                    addresses=self._addresses,
                    site=name,
                    control_plane=name == self._environment.control_plane.site,
                ),
                opts=self._child,
            )
            for name, site in self._environment.sites.items()
            if isinstance(site, AzureSite)
        }

    def _aws_sites(self) -> dict[str, AwsWorkerSite]:
        return {
            name: AwsWorkerSite(
                f"{self._environment.name}-{name}",
                AwsWorkerSiteArgs(
                    environment=self._environment,
                    addresses=self._addresses,
                    site_name=name,
                    user_data=self._user_data,
                ),
                opts=self._with_account,
            )
            for name, site in self._environment.sites.items()
            if isinstance(site, AwsSite)
        }

    def _control_plane(self) -> ControlPlane:
        network = self._azure[self._environment.control_plane.site]
        args = ControlPlaneArgs(environment=self._environment, addresses=self._addresses, network=network)
        return ControlPlane(f"{self._environment.name}-control-plane", args, opts=self._child)

    def _user_data(self, pool: str, *, group: str | None = None) -> Output[str]:
        """What a pool's machines start with, those of its scale set ``group`` if any."""
        return self._kubernetes_ca.apply(
            lambda known: pool_user_data(self._environment, self._addresses, pool, kubernetes_ca=known, group=group)
        )

    def _azure_pools(self) -> None:
        for name, pool in self._environment.pools.items():
            if pool.site in self._azure:
                network = self._azure[pool.site]
                AzurePool(
                    pool_resource(self._environment, name),
                    AzurePoolArgs(
                        environment=self._environment,
                        pool_name=name,
                        resource_group=network.resource_group,
                        subnet_id=network.subnet_ids["nodes"],
                        security_group_id=network.interface_rules.get("nodes"),
                        custom_data={
                            group.name: self._user_data(name, group=group.name)
                            for group in pool_groups(self._environment, name)
                        },
                        tags=names.tags(self._environment, pool.site),
                    ),
                    opts=self._child,
                )

    def _controller_access(self, control: ControlPlane) -> dict[str, pulumi.Input[object]]:
        """What the node controller may see of the clouds; exports the role that it takes in AWS."""
        AzureControllerAccess(
            f"{self._environment.name}-controller-access",
            AzureControllerAccessArgs(
                environment=self._environment,
                principal_ids=control.api_principal_ids,
                resource_groups={name: site.resource_group for name, site in self._azure.items()},
            ),
            opts=self._child,
        )
        if not self._aws:
            return {}
        access = NodeControllerAccess(
            f"{self._environment.name}-node-controller",
            NodeControllerAccessArgs(
                environment=self._environment,
                principal_ids=control.api_principal_ids,
                tags=self._tags(),
            ),
            opts=self._with_account,
        )
        return {"node_controller_role": access.role_arn}

    def _tags(self) -> dict[str, str]:
        """Tags of what is no site's."""
        return {**self._environment.tags, "longhaul-environment": self._environment.name}

    def _links(self, control: ControlPlane) -> dict[str, pulumi.Input[object]]:
        """Links between sites, where there is more than one; exports what the racks' gateways need."""
        if len(self._environment.sites) == 1:
            return {}

        def tunnel_key(secret: str) -> pulumi.Input[str]:
            name = f"{self._environment.name}-{secret}"
            opts = ResourceOptions(parent=self, depends_on=[control.vault_writable])
            return TunnelKey(name, secret=secret, vault_url=control.vault_url, opts=opts).value

        links = Links(
            f"{self._environment.name}-links",
            LinksArgs(
                environment=self._environment,
                addresses=self._addresses,
                aws={name: self._aws_end(name, site) for name, site in self._aws.items()},
                azure={name: self._azure_end(name, site) for name, site in self._azure.items()},
                tunnel_key=tunnel_key,
                tags=self._tags(),
            ),
            opts=self._with_account,
        )
        return {"onprem_tunnels": Output.all(**links.onprem_tunnels)} if links.onprem_tunnels else {}

    def _aws_end(self, name: str, site: AwsWorkerSite) -> AwsEnd:
        return AwsEnd(
            region=self._environment.sites[name].region,
            vpc_id=site.network.vpc_id,
            route_table_ids=site.network.route_table_ids,
        )

    def _azure_end(self, name: str, site: SiteNetwork) -> AzureEnd:
        declared = self._environment.sites[name]
        if not isinstance(declared, AzureSite):
            raise TypeError(f"site {name} is {declared.kind}, not azure")
        return AzureEnd(
            region=declared.region,
            zones=declared.zones,
            resource_group=site.resource_group,
            network_id=site.network_id,
            network_name=site.network_name,
            network_group=site.network_group,
            after=[site],
        )
