"""Rotation of the API servers' authority. Nodes, people and pods trust this authority, and so will machines that do not
exist yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from clouds.base.resource_types import ResourceKind, without_version
from clouds.registry import clouds
from components.model.secrets.certificates import KUBERNETES, Authority
from components.model.secrets.vault import QUARANTINE
from contract.documents.quarantine import Quarantine
from contract.lifetimes import ADMINISTRATOR_HOURS
from longhaul.rotate import webhooks
from longhaul.rotate.authorities import AuthorityRotation
from longhaul.rotate.followers import Followers
from longhaul.rotate.stack import Stack
from longhaul.terminal.exits import CommandError
from longhaul.vault.record import unusable_error

AUTHORITY_TYPE = "pulumi-python:dynamic/longhaul:CertificateAuthority"
CERTIFICATE_TYPE = "pulumi-python:dynamic/longhaul:Certificate"


class NewMachines(Protocol):
    """User-data of machines that will be made."""

    def refuse_other_changes(self) -> None:
        """Raise ``CommandError`` when `longhaul up` would make other changes to the resources that :meth:`learn`
        changes."""

    def learn(self) -> None:
        """Put the authorities that are trusted according to the vault into the user-data."""


@dataclass(frozen=True, kw_only=True)
class KubernetesRotation(AuthorityRotation):
    """Rotation of the API servers' authority, as an ``overlap.RotationSubject``."""

    followers: Followers
    new_machines: NewMachines

    @property
    def copy_lifetime(self) -> timedelta:
        """Return the longest validity of a kubeconfig, which contains the authorities that were trusted when it was
        made."""
        return timedelta(hours=ADMINISTRATOR_HOURS)

    def prepare(self) -> None:
        """Make the new authority. Raise ``CommandError`` unless every node reports which authorities it trusts."""
        silent = self.followers.excluding(self._quarantined()).unreported()
        if silent:
            env = self.vault.environment.name
            raise CommandError(
                f"the nodes {', '.join(silent)} do not report the authorities that they trust, or are away (`longhaul "
                f"status --env {env}`). To continue without them: --without NAME"
            )
        self.new_machines.refuse_other_changes()
        super().prepare()

    def distribute_further(self) -> None:
        """Have new machines, nodes and our pods trust the same authorities as the control plane's machines."""
        authorities = "".join(self.trusted_certificates())
        self.followers.api.trust(authorities)
        webhooks.trust_in_webhooks(self.api, authorities, tell=self.tell)
        # Before nodes: `longhaul hosts` gives hosts the authorities in the state.
        self.new_machines.learn()
        self.followers.excluding(self._quarantined()).await_all(authorities)
        self.followers.restart_own(authorities)
        if len(self.trusted_certificates()) > 1 and self.vault.environment.identity.issuers:
            self.tell(
                "profiles for `longhaul login` contain only the former authority: hand out new ones before the next "
                f"run (`longhaul access profile --env {self.vault.environment.name}`)"
            )

    def ask_again(self) -> None:
        """Wait for nodes that were rebuilt since their report, or have joined meanwhile."""
        self.followers.excluding(self._quarantined()).await_all("".join(self.trusted_certificates()))

    def _quarantined(self) -> set[str]:
        """Return the machines that API servers refuse, and that therefore cannot learn of the rotation."""
        try:
            return set(Quarantine.parse(self.vault.get(QUARANTINE)).names)
        except ValueError as error:
            raise unusable_error(QUARANTINE, error) from None


@dataclass(frozen=True, kw_only=True)
class StackMachines:
    """User-data in an environment's stack, as ``NewMachines``."""

    stack: Stack

    def refuse_other_changes(self) -> None:
        """Raise ``CommandError`` when `longhaul up` would change the authority or a pool."""
        self._refuse_other_changes(self._resources())

    def learn(self) -> None:
        """Run the engine on the authority, and on resources with user-data that contains it. The run would include the
        file's other changes of pools, so such changes are refused every time."""
        resources = self._resources()
        self._refuse_other_changes(resources)
        self.stack.apply(resources, what="user-data of pools")

    def _refuse_other_changes(self, resources: Sequence[str]) -> None:
        if not self.stack.is_as_declared(resources):
            env = self.stack.environment.name
            advice = (
                f"`longhaul plan --env {env}` shows the difference, `longhaul up --env {env}` applies it. "
                f"{self.stack.log}"
            )
            raise CommandError(
                f"the environment's pools are not as its file says, and this would change them: {advice}"
            )

    def _resources(self) -> tuple[str, ...]:
        return users_in(self.stack.resources())


def users_in(resources: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the URNs of the API servers' authority, of the resources except certificates that depend on it, and of the
    pools' groups that use these resources."""
    kinds = {token: kind for cloud in clouds().values() for token, kind in cloud.resources.kinds().items()}
    secret = Authority(name=KUBERNETES, common_name="").secret
    authority = next(
        resource["urn"]
        for resource in resources
        if resource["type"] == AUTHORITY_TYPE and resource["inputs"]["secret"] == secret
    )
    direct = [
        resource["urn"]
        for resource in resources
        if authority in _needs(resource) and not resource["type"].startswith(CERTIFICATE_TYPE)
    ]
    groups = [
        resource["urn"]
        for resource in resources
        if kinds.get(without_version(resource["type"])) is ResourceKind.POOL and _needs(resource) & set(direct)
    ]
    return tuple(dict.fromkeys((authority, *direct, *groups)))


def _needs(resource: Mapping[str, Any]) -> set[str]:
    return set(resource.get("dependencies") or ())
