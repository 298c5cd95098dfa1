"""Virtual machines: provisioning, deletion and power."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Literal

from lab.cloud.azure.errors import ArmError, not_found
from lab.cloud.azure.follower import Follower
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.schema import disks, virtual_machine
from lab.cloud.azure.schema.scale_set_instance import INSTANCE
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import Hypervisor, MachineState

log = logging.getLogger(__name__)

PROVISION_TIMEOUT_S = 1200.0
"""Seconds until provisioning times out because the agent does not report: 20 minutes
(learn.microsoft.com/troubleshoot/azure/virtual-machines)."""
STOP_TIMEOUT_S = 120.0
"""Seconds that a machine may take to go down."""

Power = Literal["running", "stopped", "deallocated"]


class MachineChanges:
    """Brings each machine to the requested state, in background tasks."""

    def __init__(
        self, *, store: DocumentStore, hypervisor: Hypervisor, follower: Follower, operations: Operations
    ) -> None:
        self._store = store
        self._hypervisor = hypervisor
        self._follower = follower
        self._operations = operations
        self._tasks: set[asyncio.Task[None]] = set()

    def created(self, machine: ResourceDocument, *, timeout_s: float = PROVISION_TIMEOUT_S) -> str:
        """Start the operation of a machine that was put, and return the operation's id. The operation ends when the
        guest has reported, even if the commands of the user data still run."""
        operation = self._operations.start(resource_id=machine.id)
        self._set(machine.id, state="Updating" if machine.hidden.get("state") == "Succeeded" else "Creating")
        self.spawn(self._provision(machine.id, operation, timeout_s))
        return operation

    def deleted(self, machine: ResourceDocument) -> str:
        """Start the deletion of a machine, and return the operation's id. The operation ends when the machine is
        gone."""
        operation = self._operations.start(resource_id=machine.id)
        disks.leave(self._store, machine)
        self._set(machine.id, state="Deleting", power="deallocated", deleting=True)
        self.spawn(self._remove(machine.id, operation))
        return operation

    def power(self, machine: ResourceDocument, power: Power, *, restart: bool = False) -> str:
        """Begin to start, stop or restart a machine, and return the operation's id."""
        operation = self._operations.start(resource_id=machine.id)
        self.spawn(self._switch(machine.id, power, restart, operation))
        return operation

    def resume(self) -> None:
        """Continue the creations and deletions that were under way before a restart of the daemon; other operations of
        machines fail."""
        for operation, record in self._operations.pending().items():
            machine = self._store.get(record["resource"])
            if machine and machine.type != virtual_machine.TYPE:
                continue
            state = machine.hidden.get("state") if machine else None
            if machine is None:
                self._operations.succeed(operation)
            elif state == "Deleting":
                self.spawn(self._remove(machine.id, operation))
            elif state in ("Creating", "Updating"):
                self.spawn(self._provision(machine.id, operation, PROVISION_TIMEOUT_S))
            else:
                error = ArmError(
                    500, "OperationPreempted", "The lab's daemon was restarted during the operation; repeat it."
                )
                self._operations.fail(operation, error)

    async def gone(self, machine_id: str) -> None:
        """Wait until a machine that was removed or switched off no longer runs.

        Raises:
            TimeoutError: it still runs after two minutes.
        """
        await self._follower.applied(self._store.revision)
        settled = await self._hypervisor.wait_settled(machine_id.lower(), timeout_s=STOP_TIMEOUT_S)
        if settled.phase in ("starting", "running"):
            raise TimeoutError(f"{machine_id} still runs although it was to stop")

    async def close(self) -> None:
        """Stop all background tasks; :meth:`resume` continues them after the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def state(self, machine_id: str) -> MachineState:
        """Return the machine's state as the hypervisor sees it."""
        return self._hypervisor.machine_state(machine_id.lower())

    def has_room(self) -> bool:
        """Return whether the lab's host has room for one more instance of a scale set."""
        there = [instance.id for instance in self._store.of_type(INSTANCE) if "unallocated" not in instance.hidden]
        return self._hypervisor.has_room([instance_id.lower() for instance_id in there])

    async def _provision(self, machine_id: str, operation: str, timeout_s: float) -> None:
        await self._follower.applied(self._store.revision)
        machine = self._store.get(machine_id)
        if machine and machine.hidden.get("power") == "running":
            settled = await self.reported(machine_id, timeout_s=timeout_s)
        else:
            settled = MachineState(phase="running", reported=True)  # switched off on purpose: nothing to wait for
        machine = self._store.get(machine_id)
        if machine is None or machine.hidden.get("state") == "Deleting":
            self._operations.fail(operation, ArmError(409, "OperationPreempted", "A later deletion took over."))
        elif settled.reported:
            self._set(machine_id, state="Succeeded", error=None)
            self._operations.succeed(operation)
        else:
            error = provisioning_error(machine, settled)
            self._set(machine_id, state="Failed", error=error.document()["error"])
            self._operations.fail(operation, error)

    async def reported(self, machine_id: str, *, timeout_s: float = PROVISION_TIMEOUT_S) -> MachineState:
        """Wait until a machine matches the store and its guest has reported, and return its state; return ``failed``
        when that takes too long."""
        await self._follower.applied(self._store.revision)
        try:
            return await self._hypervisor.wait_reported(machine_id.lower(), timeout_s=timeout_s)
        except TimeoutError:
            return MachineState(phase="failed", reason=f"the machine did not report ready within {timeout_s:.0f} s")

    async def _remove(self, machine_id: str, operation: str) -> None:
        try:
            await self.gone(machine_id)
        except TimeoutError as problem:
            self._operations.fail(operation, ArmError(409, "OperationNotAllowed", str(problem)))
            raise
        self._store.delete(machine_id)
        self._operations.succeed(operation)

    async def _switch(self, machine_id: str, power: Power, restart: bool, operation: str) -> None:
        if restart:
            self._set(machine_id, power="stopped")
            await self.gone(machine_id)
        self._set(machine_id, power=power)
        if power != "running":
            await self.gone(machine_id)
            self._operations.succeed(operation)
            return
        await self._follower.applied(self._store.revision)
        await self._hypervisor.switch_on(machine_id.lower())
        settled = await self.reported(machine_id)
        machine = self._store.get(machine_id)
        if not settled.reported and machine:
            self._operations.fail(operation, provisioning_error(machine, settled))
        else:
            self._operations.succeed(operation)

    def _set(self, machine_id: str, **values: Any) -> None:
        machine = self._store.get(machine_id)
        if machine is None:
            raise not_found(machine_id)
        hidden = {key: value for key, value in {**machine.hidden, **values}.items() if value is not None}
        changed = replace(machine, hidden=hidden)
        self._store.put(machine_id, type=changed.type, body=changed.body, hidden=changed.hidden)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background until it ends, or until :meth:`close`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            log.error("a background task of the cloud failed", exc_info=task.exception())


def provisioning_error(machine: ResourceDocument, settled: MachineState) -> ArmError:
    """Return the error of a machine that did not come up."""
    reason = settled.reason or f"the hypervisor reports '{settled.phase}'"
    return ArmError(
        409,
        "OSProvisioningTimedOut" if "within" in reason else "OSProvisioningClientError",
        f"OS provisioning for VM '{machine.name}' failed: {reason}.",
    )
