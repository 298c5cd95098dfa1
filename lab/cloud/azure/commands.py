"""Run commands: scripts that Azure's agent runs in a machine.

Restrictions are those of learn.microsoft.com/azure/virtual-machines/linux/run-command. The answer to a second command
is that of Azure/azure-cli issue 32305, and the answer to a command without a result that of Azure/azure-sdk-for-python
issue 4369.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.world import egress, public_address
from lab.cloud.delays import Delays
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import CommandResult, Hypervisor

LEAST_S = 20.0
"""Shortest time of a command, seconds: "the minimum time to run a script is about 20 seconds"."""
LIMIT_S = 5400.0
"""Seconds that a script may run: 90 minutes."""
OUTPUT_LIMIT = 4096
"""Number of bytes that are kept of each stream, from its end."""


class RunCommands:
    """Runs commands, one at a time in a machine."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        hypervisor: Hypervisor,
        operations: Operations,
        delays: Delays,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._store = store
        self._hypervisor = hypervisor
        self._operations = operations
        self._delays = delays
        self._spawn = spawn

    def start(self, machine: ResourceDocument, script: str) -> str:
        """Start a script, and return the operation's id. The operation's output has the form of Azure's run command.

        Raises:
            ArmError: 409 when the machine is off, or while another command runs in it.
        """
        if machine.hidden.get("power") != "running":
            raise ArmError(
                409,
                "OperationNotAllowed",
                f"Cannot modify extensions in the VM when the VM is not running: {machine.name}.",
            )
        agent = f"{machine.key}/extensions/runcommandlinux"
        if any(agent in record["held"] for record in self._operations.pending().values()):
            raise ArmError(
                409,
                "Conflict",
                "Run command extension execution is in progress. Please wait for completion before invoking a run "
                "command.",
            )
        begun = self._delays.now()
        operation = self._operations.start(resource_id=machine.id, locked=[agent])
        self._spawn(self._run(machine.id, script, operation, begun))
        return operation

    async def _run(self, machine_id: str, script: str, operation: str, begun: float) -> None:
        try:
            result = await self._hypervisor.run(machine_id.lower(), script, timeout_s=LIMIT_S)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the caller is told
            error = ArmError(
                409, "VMAgentStatusCommunicationError", f"The command could not be run in {machine_id}: {problem}"
            )
            self._operations.fail(operation, error)
            return
        if not self._has_way_out(machine_id):
            await self._delays.until(self._delays.after(LIMIT_S, since=begun))
            error = ArmError(
                409,
                "VMExtensionProvisioningTimeout",
                "Provisioning of VM extension 'RunCommandLinux' has timed out. Extension installation may be taking "
                "too long, or extension status could not be obtained.",
            )
            self._operations.fail(operation, error)
            return
        await self._delays.until(self._delays.after(LEAST_S, since=begun))
        self._operations.succeed(operation, {"value": [_status(result)]})

    def _has_way_out(self, machine_id: str) -> bool:
        """Return whether the agent reaches Azure's public addresses, to which it returns the result."""
        machine = self._store.get(machine_id)
        for ref in machine.body["properties"]["networkProfile"]["networkInterfaces"] if machine else ():
            interface = self._store.get(ref["id"])
            for configuration in interface.body["properties"]["ipConfigurations"] if interface else ():
                subnet = self._store.get(configuration["properties"]["subnet"]["id"])
                public = public_address(self._store, configuration["properties"])
                if public or (subnet and egress(self._store, subnet)):
                    return True
        return False


def _status(result: CommandResult) -> dict[str, str]:
    message = f"Enable succeeded: \n[stdout]\n{_tail(result.stdout)}\n[stderr]\n{_tail(result.stderr)}"
    return {
        "code": "ProvisioningState/succeeded",
        "level": "Info",
        "displayStatus": "Provisioning succeeded",
        "message": message,
    }


def _tail(text: str) -> str:
    return text.encode()[-OUTPUT_LIMIT:].decode(errors="replace")
