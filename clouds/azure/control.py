"""Control planes in Azure: their machines, by the resource manager and its run command, and their vault."""

from __future__ import annotations

from clouds.azure.api import AzureApi, Vault
from clouds.azure.names import resource_group
from clouds.azure.session import AzureError
from clouds.azure.site import AzureSite
from clouds.base.control import CommandOutput, MachineView
from clouds.base.errors import CloudError
from clouds.base.place import Place


def machines(place: Place[AzureSite]) -> list[MachineView]:
    """Every virtual machine of the site's group; none when there is no group."""
    return _api(place).machines(resource_group(place))


def run_command(place: Place[AzureSite], machine: str, script: str, *, timeout_s: float = 120.0) -> CommandOutput:
    """What a shell script wrote that Azure's agent ran as root."""
    return _api(place).run_command(resource_group(place), machine, script, timeout_s=timeout_s)


def start(place: Place[AzureSite], machine: str) -> None:
    """Switch a machine on, and wait until it runs."""
    _api(place).start(resource_group(place), machine)


def restart(place: Place[AzureSite], machine: str) -> None:
    """Switch a machine off and on again, and wait until it runs."""
    _api(place).restart(resource_group(place), machine)


def secret(_place: Place[AzureSite], vault: str, name: str, /) -> str | None:
    """The newest value in a Key Vault."""
    return Vault(f"https://{vault}.vault.azure.net").get(name)


def free_vault(place: Place[AzureSite], vault: str) -> None:
    """Purge the deleted vault, which Azure keeps with its name for a week, in which the environment could not be made
    again. Where the right to it is missing, the error says what to do for whoever has it."""
    try:
        _api(place).purge_vault(vault, region=place.site.region)
    except AzureError as error:
        raise CloudError(
            f"the deleted vault {vault} keeps its name for a week and could not be purged ({error}); to make "
            f"{place.environment} again before that: az keyvault purge --name {vault} --location {place.site.region}"
        ) from None


def _api(place: Place[AzureSite]) -> AzureApi:
    return AzureApi(subscription=place.site.subscription, prefix=place.prefix)
