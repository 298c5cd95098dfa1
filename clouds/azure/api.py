"""Azure's interfaces for Longhaul's requests without Pulumi: run command, states of machines, the vault. Names and
versions are from learn.microsoft.com, "Azure REST API reference" (Compute 2024-07-01); Azure's own client reads the
vault's secrets."""

from __future__ import annotations

import base64
import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from clouds.azure.errors import BUSY, AzureError, azure_errors
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.session import credentials, kept_credential, retries, transport
from clouds.azure.versions import COMPUTE_VERSION, VAULTS_VERSION
from clouds.base.control import CommandOutput, MachineView
from clouds.base.locked_cache import locked_cache
from clouds.base.polling_pauses import growing_pauses

if TYPE_CHECKING:
    from azure.keyvault.secrets import SecretClient

PURGE_S = 300.0
"""Time limit for the purge of a vault, seconds."""
SOFT_DELETE_S = 120.0
"""Time limit for a secret to be deleted or recovered, seconds; Azure answers before that is done."""
START_S = 600.0
"""Time limit for a machine to run again, in seconds."""

BUSY_S = 2.0
"""Pause between tries, in seconds."""
COMMANDS_S = 15.0
"""Longest pause between two tries to run a command on a machine, in seconds. A machine accepts 12 such requests, and 4
more each minute (learn.microsoft.com, "Compute throttling limits", "Update VM")."""

VAULT_CONNECTIONS = 3
"""Number of repeats of a failed connection to a vault. They take six seconds together, so that an unreachable or
missing vault is reported soon."""

PROBE = "longhaul-probe"
"""Name of a secret that does not exist: a request for it shows whether secrets may be read."""

ROLE_MISSING = "ForbiddenByRbac"
"""Error code with which a vault refuses a caller without a role (learn.microsoft.com, "Azure Key Vault REST API error
codes")."""

T = TypeVar("T")


class AzureApi:
    """The management interface for one subscription. Methods take host names of machines; a machine's name in Azure is
    ``prefix`` and its host name."""

    def __init__(self, *, subscription: str, prefix: str = "") -> None:
        self._subscription = f"/subscriptions/{subscription}"
        self._manager = ResourceManager()
        self._prefix = prefix

    def machines(self, resource_group: str) -> list[MachineView]:
        """Return the virtual machines of a group whose names have the prefix; an empty list when the group does not
        exist."""
        try:
            items = list(self._manager.pages(self._path(resource_group), version=COMPUTE_VERSION))
        except AzureError as error:
            if error.status == 404:
                return []
            raise
        names = [str(machine["name"]) for machine in items]
        short_names = [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]
        return [view for name in short_names if (view := self.machine(resource_group, name)) is not None]

    def machine(self, resource_group: str, machine: str) -> MachineView | None:
        """Return one virtual machine; None when it does not exist."""
        path = self._path(resource_group, machine)
        document = self._manager.find(path, version=COMPUTE_VERSION, expand="instanceView")
        return None if document is None else _view(machine, document.get("properties", {}))

    def run_command(self, resource_group: str, machine: str, script: str, *, timeout_s: float = 120.0) -> CommandOutput:
        """Run a shell script as root on a machine through Azure's agent, and return its output. No network route to the
        machine is needed. The output comes compressed, because Azure keeps only its last 4,096 bytes
        (learn.microsoft.com, "Run scripts in your Linux VM by using action Run Commands", "Restrictions")."""
        path = self._path(resource_group, machine, "runCommand")
        body = {"commandId": "RunShellScript", "script": [packing(script)]}
        output = _command_output(
            self._finished(path, body, what=f"{machine}: the run command", limit_s=timeout_s).json()
        )
        return replace(output, stdout=unpacked(output.stdout))

    def start(self, resource_group: str, machine: str) -> None:
        """Start a machine, and return when it runs."""
        path = self._path(resource_group, machine, "start")
        self._finished(path, {}, what=f"{machine}: its start", limit_s=START_S)

    def restart(self, resource_group: str, machine: str) -> None:
        """Restart a machine, and return when it runs again."""
        path = self._path(resource_group, machine, "restart")
        self._finished(path, {}, what=f"{machine}: its restart", limit_s=START_S)

    def _path(self, resource_group: str, machine: str = "", action: str = "") -> str:
        group = f"{self._subscription}/resourceGroups/{resource_group}/providers/Microsoft.Compute/virtualMachines"
        return "/".join(filter(None, (group, machine and f"{self._prefix}{machine}", action)))

    def _finished(self, path: str, body: dict[str, Any], *, what: str, limit_s: float) -> Any:
        """Post an action, and return its answer when the action has ended."""
        started = time.monotonic()
        begun = self._begin(path, body, until=started + limit_s)
        return self._manager.finished(begun, what=what, limit_s=limit_s, since=started)

    def _begin(self, path: str, body: dict[str, Any], *, until: float) -> Any:
        """Post an action as soon as the previous one has ended: Azure runs one command at a time on a machine and
        answers 409 meanwhile."""
        pauses = growing_pauses(BUSY_S, COMMANDS_S)
        while True:
            try:
                return self._manager.ask("POST", path, version=COMPUTE_VERSION, body=body)
            except AzureError as error:
                if error.status != 409 or error.code != BUSY or time.monotonic() > until:
                    raise
            time.sleep(next(pauses))

    def purge_vault(self, name: str, *, region: str) -> None:
        """Delete a deleted vault and its secrets permanently, so that its name is free. Do nothing when there is none.
        Raise ``AzureError`` when it has purge protection, or when the caller lacks the role Key Vault Purge
        Operator."""
        path = f"{self._subscription}/providers/Microsoft.KeyVault/locations/{region}/deletedVaults/{name}"
        try:
            self._manager.ask("POST", f"{path}/purge", version=VAULTS_VERSION)
        except AzureError as error:
            if error.status == 404:
                return
            raise
        deadline = time.monotonic() + PURGE_S
        while time.monotonic() < deadline and self._manager.find(path, version=VAULTS_VERSION) is not None:
            time.sleep(1.0)


def _view(name: str, properties: Mapping[str, Any]) -> MachineView:
    codes = [str(status.get("code", "")) for status in properties.get("instanceView", {}).get("statuses", [])]
    return MachineView(
        name=name,
        provisioning=str(properties.get("provisioningState", "")),
        power=next((code.removeprefix("PowerState/") for code in codes if code.startswith("PowerState/")), ""),
        id=str(properties.get("vmId", "")),
    )


def packing(script: str) -> str:
    """Return a script that runs ``script`` and prints its output as gzip in base64. The exit status is lost; Azure does
    not report it anyway."""
    return f"(\n{script}\n) | gzip --best | base64 --wrap=0"


def unpacked(text: str) -> str:
    """Return the output of a script from :func:`packing`. Raise ``AzureError`` when the output cannot be unpacked."""
    try:
        return gzip.decompress(base64.b64decode(text, validate=True)).decode(errors="replace").rstrip("\n")
    except (ValueError, EOFError, OSError, zlib.error):
        raise AzureError("its answer is longer than Azure keeps, or its system has no gzip") from None


def _command_output(body: Mapping[str, Any]) -> CommandOutput:
    """Split the message of a Linux run command, which contains both streams under headings."""
    values = body.get("value") or body.get("properties", {}).get("output", {}).get("value") or []
    message = str(values[0].get("message", "")) if values else ""
    _, _, rest = message.partition("[stdout]\n")
    stdout, _, stderr = rest.partition("[stderr]\n")
    return CommandOutput(stdout=stdout.rstrip("\n"), stderr=stderr.rstrip("\n"))


class KeyVault:
    """The secrets of one Key Vault. Every method raises :class:`AzureError`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def await_access(self, limit_s: float) -> None:
        """Wait until the vault admits the caller, whose role was assigned just now. A role does not take effect
        everywhere at once, so a later request may still be refused. For ``limit_s`` seconds from now, all requests of
        this process to the vault are repeated after such a refusal."""
        door = _door(self._url, credentials())
        door.awaited(limit_s)
        while True:
            try:
                self.get(PROBE)
                return
            except AzureError as error:
                # The name of a new vault is not known everywhere at once either.
                if error.answered or time.monotonic() > door.until:
                    raise
            time.sleep(BUSY_S)

    def get(self, name: str) -> str | None:
        """Return the newest value of a secret; None when there is no such secret."""
        try:
            return self._asked(name, lambda client: str(client.get_secret(name).value))
        except AzureError as error:
            if error.status == 404:
                return None
            raise

    def set(self, name: str, value: str, *, content_type: str = "") -> None:
        """Write a new version of a secret. A deleted secret is recovered first. A secret that is being deleted can be
        neither written nor recovered; wait for the end of the deletion, for at most :data:`SOFT_DELETE_S` seconds."""
        self._asked(name, lambda client: _write(client, name, value, content_type=content_type))

    def delete(self, name: str) -> None:
        """Delete a secret, and return when its name can be written again. Do nothing when it does not exist."""
        try:
            self._asked(name, lambda client: client.begin_delete_secret(name).wait(SOFT_DELETE_S))
        except AzureError as error:
            if error.status != 404:
                raise

    def _asked(self, name: str, ask: Callable[[SecretClient], T]) -> T:
        door = _door(self._url, credentials())
        while True:
            try:
                with azure_errors(f"the secret {name} of {self._url}", server=self._url):
                    return ask(door.client)
            except AzureError as error:
                if not (_role_may_come(error) and time.monotonic() < door.until):
                    raise
            time.sleep(BUSY_S)


def _role_may_come(error: AzureError) -> bool:
    """Return whether a vault's refusal may mean that the caller's role is not in force yet. A refusal by its firewall
    is final, and so are missing credentials."""
    return error.code == ROLE_MISSING or (error.status == 401 and error.code != "")


def _write(client: SecretClient, name: str, value: str, *, content_type: str) -> None:
    from azure.core.exceptions import ResourceExistsError

    deadline = time.monotonic() + SOFT_DELETE_S
    while True:
        try:
            client.set_secret(name, value, content_type=content_type)
            return
        except ResourceExistsError:
            if time.monotonic() > deadline:
                raise
        _recover(client, name)
        time.sleep(BUSY_S)


def _recover(client: SecretClient, name: str) -> None:
    """Recover a deleted secret. Do nothing when that is not possible yet, or not needed any more."""
    from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

    with suppress(ResourceExistsError, ResourceNotFoundError):
        client.begin_recover_deleted_secret(name).wait(SOFT_DELETE_S)


class _Door:
    """Access to one vault."""

    def __init__(self, client: SecretClient) -> None:
        self.client, self.until = client, 0.0

    def awaited(self, limit_s: float) -> None:
        """For ``limit_s`` seconds, repeat refused requests."""
        self.until = max(self.until, time.monotonic() + limit_s)


@locked_cache
def _door(url: str, _credentials: tuple[str | None, ...]) -> _Door:
    """Return the same access to a vault for all callers with the same credentials."""
    from azure.keyvault.secrets import SecretClient

    return _Door(
        SecretClient(url, kept_credential(), transport=transport(), retry_policy=retries(connections=VAULT_CONNECTIONS))
    )
