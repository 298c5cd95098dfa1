"""The whole environment: every site's network, the control plane, pools and links."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.control_plane.plane import ControlPlaneComponent
from components.control_plane.secrets import TunnelKey
from components.environment.cloud_resources import resources_of
from components.environment.links import Links, LinksArgs, VaultTunnelKeys
from components.guards.immutable import holding
from components.model import Environment, plan
from components.render import pool_user_data


class Cluster(ComponentResource):
    """All resources of an environment."""

    outputs: Mapping[str, pulumi.Input[object]]
    """Outputs of the stack."""

    def __init__(self, environment: Environment) -> None:
        addresses = plan(environment)
        super().__init__("longhaul:Cluster", environment.name, None, holding(environment, addresses))
        self._environment, self._addresses = environment, addresses
        kinds = {name: site.kind for name, site in environment.sites.items()}
        clouds = {
            kind: resources_of(kind)(environment, addresses, parent=self) for kind in dict.fromkeys(kinds.values())
        }
        self._sites = {name: clouds[kind] for name, kind in kinds.items()}
        for name, cloud in self._sites.items():
            cloud.make_site(name)
        control = self._sites[environment.control_plane.site].make_control_plane()
        self._kubernetes_ca = control.authorities["kubernetes"].certificate
        for name, cloud in self._sites.items():
            cloud.make_pools(name, self._user_data)
        self.outputs = {
            "api": f"https://{environment.api_name}:{environment.control_plane.api.port}",
            "vault": control.vault_url,
            "kubernetes_ca": self._kubernetes_ca,
            "certificates": {name: issued.not_after for name, issued in control.certificates.items()},
        }
        if control.vpn_addresses:
            self.outputs |= {"vpn_addresses": control.vpn_addresses}
        for cloud in clouds.values():
            self.outputs |= cloud.admit_controller(control.api_principal_ids)
            if environment.autoscaler is not None:
                self.outputs |= cloud.admit_autoscaler(control.scaling_ids)
        self.outputs |= self._links(control, [provider for cloud in clouds.values() for provider in cloud.providers])
        self.register_outputs({})

    def _user_data(self, pool: str, *, group: str | None = None) -> Output[str]:
        """Return the user-data of a pool's machines; with ``group``, of the machines of that scale set."""
        return self._kubernetes_ca.apply(
            lambda known: pool_user_data(self._environment, self._addresses, pool, kubernetes_ca=known, group=group)
        )

    def _links(
        self, control: ControlPlaneComponent, providers: list[pulumi.ProviderResource]
    ) -> Mapping[str, pulumi.Input[object]]:
        """Make the links between sites, if there are several sites. Return the stack outputs that the on-premises
        gateways need."""
        if len(self._environment.sites) == 1:
            return {}

        def tunnel_keys(secret: str, *, of_cloud: bool = False) -> VaultTunnelKeys:
            name = f"{self._environment.name}-{secret}"
            opts = ResourceOptions(parent=self, depends_on=[control.vault_writable])
            made = TunnelKey(name, secret=secret, vault_url=control.vault_url, of_cloud=of_cloud, opts=opts)
            return VaultTunnelKeys(text=_or_none_yet(made.value) if of_cloud else made.value, made=[made])

        links = Links(
            f"{self._environment.name}-links",
            LinksArgs(
                environment=self._environment,
                addresses=self._addresses,
                ends={name: cloud.link_end for name, cloud in self._sites.items()},
                tunnel_keys=tunnel_keys,
            ),
            opts=ResourceOptions(parent=self, providers=providers),
        )
        return {"onprem_tunnels": Output.all(**links.onprem_tunnels)} if links.onprem_tunnels else {}


def _or_none_yet(keys: Output[str]) -> Output[str]:
    """Return the keys of a tunnel, secret; empty while only the run itself, and not its preview, will know them.
    Otherwise a preview would show a change of every tunnel whose keys a cloud makes itself."""

    async def joined_key() -> str:
        return await keys.future() or ""

    return Output.secret(joined_key())
