"""Base classes of the parts of a control plane that a cloud makes, and the protocol of their maker. A cloud that can
hold a control plane implements the maker in its ``control_plane.py``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.model import Machine
from components.model.backups.section import Backups


class ControlPlaneVault(ComponentResource):
    """The environment's vault."""

    vault: pulumi.Resource
    """The vault itself. It exists before anybody has rights on it."""
    url: str
    """Address of the vault. It is plain text and not an output: otherwise every change of the vault would seem to move
    every secret in it."""
    writable: pulumi.Resource
    """Exists once secrets can be written; resources that write them depend on it."""


class ControlPlaneBackups(ComponentResource):
    """Storage for backups of the etcd clusters."""

    setting: pulumi.Resource
    """The vault's secret that members read."""

    def admit(self, member: Machine, principal_id: pulumi.Input[str]) -> None:
        """Let a member read the backups of its etcd cluster and make new ones under its own name, but change none."""
        raise NotImplementedError


class ControlPlaneMachine(ComponentResource):
    """One machine. The old machine is deleted before its replacement is made, because the replacement keeps its name,
    address and place in the quorum."""

    machine_id: Output[str]
    """Id of the machine; it changes with each replacement."""
    principal_id: Output[str]
    """Object id of the machine's identity in the directory; a replacement has the same identity."""
    scaling_id: Output[str]
    """Object id of the autoscaler's identity on the machine; API servers only."""
    later_grants: Sequence[pulumi.Resource]
    """Rights that the machine gets after it has started."""


@dataclass(frozen=True, kw_only=True)
class MachineArgs:
    """Arguments of a machine that are the same in every cloud."""

    machine: Machine
    secrets: Mapping[str, pulumi.Resource]
    """Resources that write the secrets that the machine reads, by the secrets' names."""
    later: Collection[str] = ()
    """Names of secrets that are written while the machine starts: the machine is made without waiting for them."""
    after: Sequence[pulumi.Resource] = ()
    """Resources that must be complete before the machine is made."""
    hooks: pulumi.ResourceHookBinding | None = None


class ControlPlaneParts(Protocol):
    """Maker of one control plane's parts in a cloud. A machine's load balancer, disk and public address are made before
    the machine."""

    @property
    def location(self) -> Mapping[str, pulumi.Input[str]]:
        """Return the plain values by which the cloud finds the machines (``ControlAccess.location``)."""

    def make_vault(self, name: str, opts: ResourceOptions) -> ControlPlaneVault:
        """Make the vault."""

    def admit_administrators(self, written: Mapping[str, pulumi.Resource], opts: ResourceOptions) -> None:
        """Let administrators of the cluster who do not run ``up`` read two secrets of the vault, once the secrets
        exist. ``written`` has the resource that writes each secret."""

    def make_backups(
        self, name: str, backups: Backups, vault: ControlPlaneVault, opts: ResourceOptions
    ) -> ControlPlaneBackups:
        """Make the storage for backups, and the setting in the vault that describes it."""

    def make_balancer(self, name: str, opts: ResourceOptions) -> None:
        """Make the load balancer in front of all API servers."""

    def make_disk(self, machine: Machine, opts: ResourceOptions) -> None:
        """Make the network disk of a machine's data."""

    def make_public_address(self, machine: Machine, opts: ResourceOptions) -> Output[str]:
        """Make the address at which laptops reach a machine, and return it."""

    def make_machine(self, args: MachineArgs, opts: ResourceOptions) -> ControlPlaneMachine:
        """Make a machine, with its identity, its rights and its address."""
