"""A control plane's machines, vault and backups in its cloud."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol

from clouds.base.place import Place, SiteT
from contract.documents.backups import StoredBackup


@dataclass(frozen=True, kw_only=True)
class MachineView:
    """One virtual machine, as its cloud reports it."""

    name: str
    provisioning: str
    """State of the machine's creation in the cloud's own word, such as ``Succeeded``."""
    power: str
    """``running``, ``stopped``, ``deallocated`` or another word of the cloud; empty when unknown."""
    id: str = ""
    """The cloud's own id of the machine. A new machine under the same name has a new id."""


@dataclass(frozen=True, kw_only=True)
class CommandOutput:
    """Output of a script that ran on a machine."""

    stdout: str
    stderr: str


class Vault(Protocol):
    """The secrets of one vault. Every method raises ``CloudError`` when the vault refuses or does not answer."""

    def await_access(self, limit_s: float) -> None:
        """Wait until the vault admits a caller whose role was assigned just now. For ``limit_s`` seconds, this process
        repeats requests that are refused because a role is not in force yet."""

    def get(self, name: str) -> str | None:
        """Return the newest value of a secret; None when there is no such secret."""

    def set(self, name: str, value: str, *, content_type: str = "") -> None:
        """Write a new version of a secret. A deleted secret is recovered first."""

    def delete(self, name: str) -> None:
        """Delete a secret, and return when its name can be written again. Do nothing when it does not exist."""


class ControlMachines(Protocol):
    """Machines of one control plane, by their host names. Every method raises ``CloudError`` when the cloud refuses or
    does not answer."""

    def machine(self, name: str) -> MachineView | None:
        """Return one machine; None when it does not exist."""

    def run_command(self, name: str, script: str, *, timeout_s: float) -> CommandOutput:
        """Run a shell script as root on a machine, as :meth:`ControlAccess.run_command` does."""


class ControlAccess(ABC, Generic[SiteT]):
    """Machines of a control plane, its vault and its backups. Methods take and return host names of machines, without
    the prefix of the environment's names in the cloud. Every method raises ``CloudError`` when the cloud refuses or
    does not answer."""

    @abstractmethod
    def machines(self, place: Place[SiteT]) -> list[MachineView]:
        """Return all virtual machines of the control plane's site; an empty list when there are none."""

    @abstractmethod
    def run_command(self, place: Place[SiteT], machine: str, script: str, *, timeout_s: float = 120.0) -> CommandOutput:
        """Run a shell script as root on a machine through the cloud's agent, and return its output. No network route to
        the machine is needed. Raise ``CloudError`` when the script does not end within ``timeout_s`` seconds."""

    @abstractmethod
    def location(self, place: Place[SiteT]) -> dict[str, str]:
        """Return the plain values by which :meth:`machines_at` finds the machines of a site. The engine's state stores
        these values."""

    @abstractmethod
    def machines_at(self, location: Mapping[str, Any]) -> ControlMachines:
        """Return the machines of the site with this location; other values in ``location`` are ignored."""

    @abstractmethod
    def vault(self, url: str) -> Vault:
        """Return the vault at an address."""

    @abstractmethod
    def start(self, place: Place[SiteT], machine: str) -> None:
        """Start a machine, and return when it runs."""

    @abstractmethod
    def restart(self, place: Place[SiteT], machine: str) -> None:
        """Restart a machine, and return when it runs again."""

    @abstractmethod
    def secret(self, place: Place[SiteT], vault: str, name: str) -> str | None:
        """Return the newest value of a secret in the vault; None when there is no such secret."""

    @abstractmethod
    def set_secret(self, place: Place[SiteT], vault: str, name: str, value: str) -> None:
        """Write a new version of a secret in the vault; its value is JSON or PEM."""

    @abstractmethod
    def signed_in(self, place: Place[SiteT]) -> str:
        """Return the caller's name in the vault's cloud, in readable form if possible; empty when no answer to an
        earlier request contained one. The name is for logs and proves nothing."""

    @abstractmethod
    def backups(self, place: Place[SiteT], storage: str, container: str, prefix: str) -> list[StoredBackup]:
        """Return the backups in a container of the storage below a prefix, the oldest first."""

    @abstractmethod
    def fetch_backup(self, place: Place[SiteT], storage: str, container: str, name: str, to: Path) -> None:
        """Write the content of one backup to a file."""

    @abstractmethod
    def backup_head(self, place: Place[SiteT], storage: str, container: str, name: str, length: int) -> bytes:
        """Return the first bytes of one backup, ``length`` at most."""

    @abstractmethod
    def free_vault(self, place: Place[SiteT], vault: str) -> None:
        """Purge a deleted vault, so that its name can be used again. Do nothing when there is no deleted vault of that
        name. The message of ``CloudError`` says what the user has to do."""
