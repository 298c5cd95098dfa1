"""Changes that take time in Azure: their operations, which end when the lab's clock says so."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from lab.cloud.azure import deletion
from lab.cloud.azure.follower import Follower
from lab.cloud.azure.locks import held_by
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.schema import gateway_connection, subnet, virtual_network_gateway, virtual_network_peering
from lab.cloud.azure.schema.base import TypeSpec
from lab.cloud.delays import Delays
from lab.cloud.store import DocumentStore, ResourceDocument

DURATIONS_S: Mapping[str, float] = {
    virtual_network_gateway.TYPE: 2700.0,
    gateway_connection.TYPE: 120.0,
    subnet.TYPE: 14.0,
    virtual_network_peering.TYPE: 14.0,
}
"""Seconds that a change of a resource takes, by its type. A gateway takes "often 45 minutes or more"
(learn.microsoft.com/azure/vpn-gateway, vpn-gateway-create-site-to-site-rm-powershell); Azure documents no other
durations. The two minutes for a connection are an assumption. The 14 seconds come from Azure's answer during a change
of a subnet, "the call can be retried in 14 seconds" (pulumi/pulumi-azure-native issue 3720)."""
CARRIERS = frozenset({virtual_network_gateway.TYPE, gateway_connection.TYPE})
"""Types whose changes end only after the hypervisor has applied them."""


class ResourceChanges:
    """Brings resources of the types of :data:`DURATIONS_S` to the requested state, in background tasks."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        types: Mapping[str, TypeSpec],
        follower: Follower,
        operations: Operations,
        delays: Delays,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._store = store
        self._types = dict(types)
        self._follower = follower
        self._operations = operations
        self._delays = delays
        self._spawn = spawn

    def written(self, document: ResourceDocument) -> str:
        """Start the operation of a resource that was put, and return the operation's id."""
        return self._start(document, state="Updating")

    def deleted(self, document: ResourceDocument) -> str:
        """Start the deletion of a resource, and return the operation's id. The operation ends when the resource is
        gone."""
        return self._start(document, state="Deleting")

    def resume(self) -> None:
        """Continue operations that a restart of the daemon interrupted."""
        for operation, record in self._operations.pending().items():
            document = self._store.get(record["resource"])
            if document and document.type in DURATIONS_S:
                self._spawn(self._end(document.id, operation, record["until"]))

    def _start(self, document: ResourceDocument, *, state: str) -> str:
        until = self._delays.after(DURATIONS_S[document.type])
        locked = held_by(document.id, document.type, document.body)
        operation = self._operations.start(resource_id=document.id, until=until, locked=locked)
        self._set(document, state=state)
        self._spawn(self._end(document.id, operation, until))
        return operation

    async def _end(self, document_id: str, operation: str, until: float) -> None:
        await self._delays.until(until)
        document = self._store.get(document_id)
        if document and document.type in CARRIERS:
            await self._follower.applied(self._store.revision)
            document = self._store.get(document_id)
        state = document.hidden.get("state") if document else None
        if document and state == "Updating":
            self._set(document, state="Succeeded")
        elif document and state == "Deleting":
            deletion.remove(self._types, self._store, document)
        self._operations.succeed(operation)

    def _set(self, document: ResourceDocument, *, state: str) -> None:
        hidden = {**document.hidden, "state": state}
        self._store.put(document.id, type=document.type, body=document.body, hidden=hidden)
