"""The control plane: vault and certificates, both etcd clusters, API servers behind their load balancer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.control_plane.certificates import CertificateAuthority, IssuedCertificate
from components.control_plane.founding import Bootstrapped
from components.control_plane.guard import DestructionGuard
from components.control_plane.hooks import machine_hooks
from components.control_plane.parts import ControlPlaneBackups, ControlPlaneMachine, ControlPlaneParts, MachineArgs
from components.control_plane.readiness import Readiness, ReadinessArgs
from components.control_plane.secrets import VaultSecret, VaultSetting
from components.model import (
    AddressPlan,
    Certificate,
    Environment,
    Machine,
    Role,
    authorities,
    certificates,
    control_machines,
    shared_secrets,
)
from components.model.control_plane.machines import learners, members
from components.model.identity.sign_in import settings
from components.model.secrets.certificates import ETCD_CLIENT
from components.model.secrets.vault import ISSUERS, VPN_REMOTES, etcd_state_secret
from components.model.vpn.section import remotes
from contract.documents import backup_settings


@dataclass(frozen=True, kw_only=True)
class ControlPlaneArgs:
    """Arguments of the control plane."""

    environment: Environment
    addresses: AddressPlan
    parts: ControlPlaneParts


class ControlPlaneComponent(ComponentResource):
    """Vault, certificates, both etcd clusters and the API servers."""

    vault_writable: pulumi.Resource
    """Exists once secrets can be written."""
    vault: pulumi.Resource
    """The vault. Subnets that are written later must wait for it."""
    vault_url: str
    """Address of the vault."""
    certificates: Mapping[str, IssuedCertificate]
    """Every certificate by name."""
    authorities: Mapping[str, CertificateAuthority]
    """Every authority by name."""
    vpn_addresses: Mapping[str, Output[str]]
    """Public address of each VPN machine."""
    api_principal_ids: dict[str, Output[str]]
    """Object id of each API server machine's identity, by machine."""
    scaling_ids: dict[str, Output[str]]
    """Object id of the autoscaler's identity on each API server machine, by machine."""

    def __init__(self, name: str, args: ControlPlaneArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:ControlPlane", name, None, opts)
        self._name, self._args, self._parts = name, args, args.parts
        self._child = ResourceOptions(parent=self)
        self._machines = control_machines(args.environment, args.addresses)
        self._planned = certificates(args.environment, args.addresses)
        self._vault = self._parts.make_vault(f"{name}-vault", self._child)
        self.vault, self.vault_url = self._vault.vault, self._vault.url
        self.vault_writable = self._vault.writable
        self._writes = ResourceOptions(parent=self, depends_on=[self.vault_writable])
        self.authorities = self._authorities()
        self.certificates = {
            certificate.name: self._certificate(certificate, opts=self._child)
            for certificate in self._planned
            if not self._opens_etcd(certificate)
        }
        self._secrets: dict[str, VaultSecret] = {}
        for secret in shared_secrets(self._machines):
            self._secrets[secret.name] = VaultSecret(
                f"{args.environment.name}-{secret.name}",
                secret=secret,
                vault_url=self.vault_url,
                opts=self._writes,
            )
        self._issuers = VaultSetting(
            f"{args.environment.name}-{ISSUERS}",
            secret=ISSUERS,
            value=settings(args.environment),
            vault_url=self.vault_url,
            opts=self._writes,
        )
        self.vpn_addresses = {
            machine.name: self._parts.make_public_address(machine, self._child)
            for machine in members(self._machines, Role.VPN)
        }
        self._vpn_setting = self._vpn_remotes()
        self._parts.admit_administrators(self._written_authorities(), self._child)
        self._backups = self._backup_storage()
        self._hooks = machine_hooks(args.environment, args.addresses)
        self.api_principal_ids = {}
        self.scaling_ids = {}
        ready, bootstrapped = self._etcd_clusters()
        # The credential for the etcd clusters is made only once the clusters are known to exist, so that no second
        # cluster is bootstrapped.
        self.certificates |= {
            certificate.name: self._certificate(certificate, opts=ResourceOptions(parent=self, depends_on=bootstrapped))
            for certificate in self._planned
            if self._opens_etcd(certificate)
        }
        servers = self._api_servers()
        ready += [*servers, *self._learner(after=[*ready, *bootstrapped])]
        ready += self._vpn(after=servers)
        DestructionGuard(
            f"{name}-guard",
            environment=args.environment.name,
            destroyable=args.environment.destroyable,
            opts=ResourceOptions(parent=self, depends_on=[*ready, *self.certificates.values(), *self._kept()]),
        )
        self.register_outputs({"vault_url": self.vault_url})

    def _vpn_remotes(self) -> VaultSetting | None:
        """Write the VPN machines' addresses to the vault; laptops get them from there."""
        environment, addresses = self._args.environment, self.vpn_addresses.values()
        if not addresses:
            return None
        name = environment.vpn.name if environment.vpn else None
        return VaultSetting(
            f"{environment.name}-{VPN_REMOTES}",
            secret=VPN_REMOTES,
            value=Output.all(*addresses).apply(lambda known: remotes(name, known)),
            vault_url=self.vault_url,
            opts=self._writes,
        )

    def _kept(self) -> list[pulumi.Resource]:
        """Return the resources that must not be deleted before the guard has agreed."""
        return [self._backups] if self._backups else []

    def _backup_storage(self) -> ControlPlaneBackups | None:
        environment = self._args.environment
        if environment.backups is None:
            return None
        return self._parts.make_backups(f"{environment.name}-backups", environment.backups, self._vault, self._child)

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

    def _certificate(self, certificate: Certificate, *, opts: ResourceOptions) -> IssuedCertificate:
        environment = self._args.environment.name
        prefixed = certificate.name.startswith(environment)
        return IssuedCertificate(
            certificate.name if prefixed else f"{environment}-{certificate.name}",
            certificate=certificate,
            authority=self.authorities[certificate.authority],
            vault_url=self.vault_url,
            opts=opts,
        )

    def _opens_etcd(self, certificate: Certificate) -> bool:
        """Return whether a certificate is an API server's credential for the etcd clusters."""
        servers = {machine.name for machine in members(self._machines, Role.API)}
        return certificate.part == ETCD_CLIENT and certificate.holder in servers

    def _etcd_clusters(self) -> tuple[list[Readiness], list[pulumi.Resource]]:
        """Make all members of both etcd clusters at once. Return their readiness, and the records of the etcd clusters'
        bootstrap."""
        ready: list[Readiness] = []
        bootstrapped: list[pulumi.Resource] = []
        for role in (Role.ETCD, Role.EVENTS):
            machines = self._made(role)
            note = Bootstrapped(
                f"{self._args.environment.name}-{role}-founded",
                vault_url=self.vault_url,
                secret=etcd_state_secret(role),
                cluster=machines[0].cluster,
                members=machines,
                opts=self._child,
            )
            ready += machines
            bootstrapped.append(note)
        return ready, bootstrapped

    def _api_servers(self) -> list[Readiness]:
        self._parts.make_balancer(f"{self._args.environment.name}-api", self._child)
        return self._made(Role.API)

    def _made(self, role: Role) -> list[Readiness]:
        """Make the machines of one role at once, and return the readiness of each. The guards make sure that they are
        replaced one at a time.

        A wait for readiness occupies one of the engine's slots, and one of the four workers that the SDK has for all
        dynamic resources, credentials among them. So it begins only when everything that the machine needs exists: for
        a member, the machines of its whole etcd cluster, which become ready as a quorum; for an API server, its
        credential for the etcd clusters.
        """
        made = {machine: self._machine(machine) for machine in members(self._machines, role)}
        if self._backups and role.is_etcd:
            for machine, resource in made.items():
                self._backups.admit(machine, resource.principal_id)
        if role is Role.API:
            self.api_principal_ids |= {machine.name: resource.principal_id for machine, resource in made.items()}
            self.scaling_ids |= {machine.name: resource.scaling_id for machine, resource in made.items()}
            return [
                self._readiness(machine, resource, after=self._etcd_access(machine))
                for machine, resource in made.items()
            ]
        return [self._readiness(machine, resource, after=list(made.values())) for machine, resource in made.items()]

    def _learner(self, *, after: Sequence[pulumi.Resource]) -> list[Readiness]:
        """Make the learner if the file declares it, once the main etcd cluster exists, and return its readiness. Only
        the guard of the whole environment waits for its readiness. Its disk is deleted only when the learner is removed
        from the file, or with the environment (``components/guards/immutable.py``)."""
        ready = []
        for machine in learners(self._machines):
            self._parts.make_disk(machine, self._child)
            made = self._machine(machine, after=after)
            if self._backups:
                self._backups.admit(machine, made.principal_id)
            ready.append(self._readiness(machine, made, after=[made]))
        return ready

    def _vpn(self, *, after: Sequence[pulumi.Resource]) -> list[Readiness]:
        """Make the VPN machines, if the environment has any, once the resources of ``after`` exist. Return their
        readiness."""
        ready = []
        for machine in members(self._machines, Role.VPN):
            made = self._machine(machine, after=after)
            ready.append(self._readiness(machine, made, after=[made]))
        return ready

    def _etcd_access(self, machine: Machine) -> list[pulumi.Resource]:
        return [
            self.certificates[certificate.name]
            for certificate in self._planned
            if certificate.holder == machine.name and self._opens_etcd(certificate)
        ]

    def _machine(self, machine: Machine, *, after: Sequence[pulumi.Resource] = ()) -> ControlPlaneMachine:
        args = MachineArgs(
            machine=machine,
            secrets=self._written(),
            # The machine does not wait for the credential for the etcd clusters: it starts, and fetches the credential
            # once the credential exists.
            later=[certificate.name for certificate in self._planned if self._opens_etcd(certificate)],
            after=after,
            hooks=self._hooks.get(machine.name),
        )
        return self._parts.make_machine(args, self._child)

    def _written(self) -> dict[str, pulumi.Resource]:
        """Return the resource that writes each of the vault's secrets, by the secret's name."""
        written: dict[str, pulumi.Resource] = {ISSUERS: self._issuers}
        if self._backups:
            written[backup_settings.SECRET] = self._backups.setting
        if self._vpn_setting:
            written[VPN_REMOTES] = self._vpn_setting
        return {**self._written_authorities(), **self.certificates, **self._secrets, **written}

    def _written_authorities(self) -> dict[str, pulumi.Resource]:
        return {
            secret: self.authorities[authority.name]
            for authority in authorities(self._args.environment)
            for secret in (authority.secret, authority.trust_secret)
        }

    def _readiness(self, machine: Machine, made: ControlPlaneMachine, *, after: Sequence[pulumi.Resource]) -> Readiness:
        return Readiness(
            f"{machine.name}-ready",
            ReadinessArgs(location=self._parts.location, machine=machine.name, machine_id=made.machine_id),
            # The waiting time begins with the last right: a role assignment takes minutes to come into force.
            opts=ResourceOptions(parent=self, depends_on=[*after, *made.later_grants]),
        )
