"""The control plane: vault and certificates, both stores, API servers behind their load balancer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components import guard
from components.azure import names
from components.azure.load_balancer import ApiLoadBalancer, ApiLoadBalancerArgs
from components.azure.machines import ControlMachine, ControlMachineArgs
from components.azure.network import CONTROL_PLANE_SUBNETS, SiteNetwork
from components.azure.vault import EnvironmentVault, EnvironmentVaultArgs
from components.certificates import CertificateAuthority, IssuedCertificate
from components.model import (
    AddressPlan,
    Environment,
    Machine,
    Role,
    authorities,
    certificates,
    control_machines,
    shared_secrets,
)
from components.model.machines import members
from components.model.sites import AzureSite
from components.model.vault import store_state_secret, vault_url
from components.readiness import Readiness, ReadinessArgs
from components.render.stores import places
from components.secrets import VaultSecret


@dataclass(frozen=True, kw_only=True)
class ControlPlaneArgs:
    """Where the control plane goes."""

    environment: Environment
    addresses: AddressPlan
    network: SiteNetwork


def member_guards(environment: Environment, addresses: AddressPlan) -> dict[str, pulumi.ResourceHookBinding]:
    """A guard for every place that a store may have, not only for today's members: the engine looks a hook up by its
    name when it deletes a machine that is no longer in the file."""
    name = environment.control_plane.site
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        raise TypeError(f"site {name} is {site.kind}, not azure")
    machines = control_machines(environment, addresses)
    return {
        place: guard.member_hook(
            guard.Member(
                environment=environment.name,
                destroyable=environment.destroyable,
                subscription=site.subscription,
                group=names.resource_group(environment, name),
                machine=place,
                peers=tuple(other.name for other in members(machines, role) if other.name != place),
                vault_url=vault_url(environment),
                state_secret=store_state_secret(role),
            )
        )
        for role in (Role.ETCD, Role.EVENTS)
        for place in places(environment, addresses, role)
    }


class ControlPlane(ComponentResource):
    """Vault, certificates, both stores and the API servers."""

    vault_writable: pulumi.Resource
    """Is there once secrets can be written."""
    vault_url: str
    """Address of the vault."""
    certificates: Mapping[str, IssuedCertificate]
    """Every certificate by name."""
    authorities: Mapping[str, CertificateAuthority]
    """Every authority by name."""

    def __init__(self, name: str, args: ControlPlaneArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:ControlPlane", name, None, opts)
        site = args.environment.sites[args.environment.control_plane.site]
        if not isinstance(site, AzureSite) or args.network.zone_name is None:
            raise TypeError("the control plane needs an Azure site with a private zone")
        self._name, self._args, self._site, self._zone = name, args, site, args.network.zone_name
        self._child = ResourceOptions(parent=self)
        self._machines = control_machines(args.environment, args.addresses)
        self._vault = EnvironmentVault(
            f"{name}-vault",
            EnvironmentVaultArgs(
                environment=args.environment,
                resource_group=args.network.resource_group,
                subnet_ids={part: args.network.subnet_ids[part] for part in CONTROL_PLANE_SUBNETS},
            ),
            opts=self._child,
        )
        self.vault_url = self._vault.url
        self.vault_writable = self._vault.writable
        self._writes = ResourceOptions(parent=self, depends_on=[self.vault_writable])
        self.authorities = self._authorities()
        self.certificates = self._certificates()
        self._secrets = {
            secret.name: VaultSecret(
                f"{args.environment.name}-{secret.name}", secret=secret, vault_url=self.vault_url, opts=self._writes
            )
            for secret in shared_secrets(self._machines)
        }
        self._hooks = member_guards(args.environment, args.addresses)
        ready = self._stores()
        ready += self._api_servers(after=ready)
        guard.DestructionGuard(
            f"{name}-guard",
            environment=args.environment.name,
            destroyable=args.environment.destroyable,
            opts=ResourceOptions(parent=self, depends_on=[*ready, *self.certificates.values()]),
        )
        self.register_outputs({"vault_url": self.vault_url})

    def _authorities(self) -> dict[str, CertificateAuthority]:
        return {
            authority.name: CertificateAuthority(
                f"{self._name}-ca-{authority.name}",
                authority=authority,
                vault_url=self.vault_url,
                opts=self._writes,
            )
            for authority in authorities(self._args.environment)
        }

    def _certificates(self) -> dict[str, IssuedCertificate]:
        return {
            certificate.name: IssuedCertificate(
                f"{self._args.environment.name}-{certificate.name}"
                if not certificate.name.startswith(self._args.environment.name)
                else certificate.name,
                certificate=certificate,
                authority=self.authorities[certificate.authority],
                vault_url=self.vault_url,
                opts=self._child,
            )
            for certificate in certificates(self._args.environment, self._args.addresses)
        }

    def _stores(self) -> list[pulumi.Resource]:
        """Both stores side by side; within one, a member at a time."""
        return [*self._chain(Role.ETCD, after=[]), *self._chain(Role.EVENTS, after=[])]

    def _api_servers(self, *, after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        balancer = ApiLoadBalancer(
            f"{self._args.environment.name}-api",
            ApiLoadBalancerArgs(
                environment=self._args.environment,
                addresses=self._args.addresses,
                resource_group=self._args.network.resource_group,
                subnet_id=self._args.network.subnet_ids["api"],
                zone_name=self._zone,
            ),
            opts=self._child,
        )
        return self._chain(Role.API, after=after, backend_pool_id=balancer.backend_pool_id)

    def _chain(
        self, role: Role, *, after: list[pulumi.Resource], backend_pool_id: Output[str] | None = None
    ) -> list[pulumi.Resource]:
        """The machines of one role, each after the readiness of the one before; returns every readiness."""
        ready: list[pulumi.Resource] = []
        for machine in members(self._machines, role):
            made = self._machine(machine, after=[*after, *ready[-1:]], backend_pool_id=backend_pool_id)
            ready.append(self._readiness(machine, made))
        return ready

    def _machine(
        self,
        machine: Machine,
        *,
        after: list[pulumi.Resource],
        backend_pool_id: Output[str] | None,
    ) -> ControlMachine:
        environment = self._args.environment
        own = [issued for name, issued in self.certificates.items() if name.startswith(f"{machine.name}-")]
        return ControlMachine(
            machine.name,
            ControlMachineArgs(
                environment=environment,
                addresses=self._args.addresses,
                machine=machine,
                resource_group=self._args.network.resource_group,
                subnet_id=self._args.network.subnet_ids[machine.role],
                vault_id=self._vault.vault_id,
                zone_name=self._zone,
                backend_pool_id=backend_pool_id,
                secrets_ready=[*own, *self.authorities.values(), *self._secrets.values()],
                after=after,
                hooks=self._hooks.get(machine.name),
            ),
            opts=self._child,
        )

    def _readiness(self, machine: Machine, made: ControlMachine) -> Readiness:
        founds = machine.role.is_store and machine.index == 0
        return Readiness(
            f"{machine.name}-ready",
            ReadinessArgs(
                subscription=self._site.subscription,
                resource_group=self._args.network.resource_group,
                machine=machine.name,
                machine_id=made.machine_id,
                vault_url=self.vault_url,
                state_secret=store_state_secret(machine.role) if founds else "",
            ),
            opts=self._child,
        )
