"""Control planes in Azure: their machines, through the resource manager and its run command, and their vault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clouds.azure.api import AzureApi, KeyVault
from clouds.azure.blobs import fetched, head, listed
from clouds.azure.errors import AzureError
from clouds.azure.names import resource_group
from clouds.azure.session import kept_credential
from clouds.azure.site import AzureSite
from clouds.base.control import CommandOutput, ControlAccess, MachineView
from clouds.base.errors import CloudError
from clouds.base.place import Place
from contract.documents.backups import StoredBackup


class AzureControlMachines:
    """Machines of a control plane in one resource group. Only its methods send requests, so making an object costs
    nothing."""

    def __init__(self, *, subscription: str, group: str, prefix: str) -> None:
        self._subscription, self._group, self._prefix = subscription, group, prefix

    def machine(self, name: str) -> MachineView | None:
        """Return one virtual machine; None when it does not exist."""
        return self._api().machine(self._group, name)

    def run_command(self, name: str, script: str, *, timeout_s: float) -> CommandOutput:
        """Run a shell script as root through Azure's agent, and return its output."""
        return self._api().run_command(self._group, name, script, timeout_s=timeout_s)

    def _api(self) -> AzureApi:
        return AzureApi(subscription=self._subscription, prefix=self._prefix)


class AzureControlAccess(ControlAccess[AzureSite]):
    """Machines of a control plane in Azure, its Key Vault and its backups."""

    def machines(self, place: Place[AzureSite]) -> list[MachineView]:
        """Return the virtual machines of the site's group whose names have the prefix; an empty list when there is no
        group."""
        return _api(place).machines(resource_group(place))

    def run_command(
        self, place: Place[AzureSite], machine: str, script: str, *, timeout_s: float = 120.0
    ) -> CommandOutput:
        """Run a shell script as root through Azure's agent, and return its output."""
        return _api(place).run_command(resource_group(place), machine, script, timeout_s=timeout_s)

    def location(self, place: Place[AzureSite]) -> dict[str, str]:
        """Return the subscription, the resource group, and the prefix of names where there is one."""
        prefix = {"prefix": place.prefix} if place.prefix else {}
        return {"subscription": place.site.subscription, "resource_group": resource_group(place), **prefix}

    def machines_at(self, location: Mapping[str, Any]) -> AzureControlMachines:
        """Return the machines of a resource group."""
        return AzureControlMachines(
            subscription=location["subscription"], group=location["resource_group"], prefix=location.get("prefix", "")
        )

    def vault(self, url: str) -> KeyVault:
        """Return the Key Vault at an address."""
        return KeyVault(url)

    def start(self, place: Place[AzureSite], machine: str) -> None:
        """Start a machine, and return when it runs."""
        _api(place).start(resource_group(place), machine)

    def restart(self, place: Place[AzureSite], machine: str) -> None:
        """Restart a machine, and return when it runs again."""
        _api(place).restart(resource_group(place), machine)

    def secret(self, place: Place[AzureSite], vault: str, name: str) -> str | None:
        """Return the newest value of a secret in a Key Vault; None when there is no such secret."""
        return KeyVault(f"https://{vault}.vault.azure.net").get(name)

    def set_secret(self, place: Place[AzureSite], vault: str, name: str, value: str) -> None:
        """Write a new version of a secret in a Key Vault; its value is JSON or PEM."""
        kind = "application/x-pem-file" if value.startswith("-----BEGIN") else "application/json"
        KeyVault(f"https://{vault}.vault.azure.net").set(name, value, content_type=kind)

    def signed_in(self, place: Place[AzureSite]) -> str:
        """Return the caller from a stored token: a person's name or an application's id; empty without a token. No
        request is sent."""
        return kept_credential().holder()

    def backups(self, place: Place[AzureSite], storage: str, container: str, prefix: str) -> list[StoredBackup]:
        """Return the blobs of a container of the storage account below a prefix, the oldest first."""
        return sorted(listed(storage, container, prefix), key=lambda backup: backup.made)

    def fetch_backup(self, place: Place[AzureSite], storage: str, container: str, name: str, to: Path) -> None:
        """Write a blob of the storage account to a file."""
        fetched(storage, container, name, to)

    def backup_head(self, place: Place[AzureSite], storage: str, container: str, name: str, length: int) -> bytes:
        """Return the first bytes of a blob of the storage account, ``length`` at most."""
        return head(storage, container, name, length)

    def free_vault(self, place: Place[AzureSite], vault: str) -> None:
        """Purge the deleted vault. Azure keeps it and its name for a week, during which the environment could not be
        made again. If the caller may not purge it, the error contains the command for a user who may."""
        try:
            _api(place).purge_vault(vault, region=place.site.region)
        except AzureError as error:
            raise CloudError(
                f"the deleted vault {vault} keeps its name for a week and could not be purged ({error}); to make "
                f"{place.environment} again before that: "
                f"az keyvault purge --name {vault} --location {place.site.region}"
            ) from None


def _api(place: Place[AzureSite]) -> AzureApi:
    return AzureApi(subscription=place.site.subscription, prefix=place.prefix)
