"""VPN gateways and their connections: their slow operations, and the states of their tunnels."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from lab.cloud.azure import deletion
from lab.cloud.azure.follower import Follower
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.schema import gateway_connection, virtual_network_gateway
from lab.cloud.azure.schema.base import TypeSpec
from lab.cloud.azure.tunnels import tunnel_names
from lab.cloud.store import Document, Store
from lab.desired import Hypervisor, TunnelState

TYPES = frozenset({virtual_network_gateway.TYPE, gateway_connection.TYPE})
"""Resource types whose operations take time in Azure."""


class Gateways:
    """Brings gateways and connections to the requested state, in background tasks."""

    def __init__(
        self,
        *,
        store: Store,
        hypervisor: Hypervisor,
        follower: Follower,
        operations: Operations,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._store = store
        self._hypervisor = hypervisor
        self._follower = follower
        self._operations = operations
        self._spawn = spawn

    def written(self, document: Document) -> str:
        """Start the operation of a resource that was put, and return it; it ends when the hypervisor has the
        resource."""
        operation = self._operations.start(resource_id=document.id)
        self._set(document, state="Updating")
        self._spawn(self._settle(document.id, operation))
        return operation

    def deleted(self, document: Document, types: dict[str, TypeSpec]) -> str:
        """Start the operation of a resource that is deleted, and return it; it ends when the resource is gone."""
        operation = self._operations.start(resource_id=document.id)
        self._set(document, state="Deleting")
        self._spawn(self._remove(document.id, operation, types))
        return operation

    def resume(self, types: dict[str, TypeSpec]) -> None:
        """Continue what was under way before a restart of the daemon."""
        for operation, record in self._operations.pending().items():
            document = self._store.get(record["resource"])
            if document and document.type in TYPES:
                deleting = document.hidden.get("state") == "Deleting"
                work = self._remove(document.id, operation, types) if deleting else None
                self._spawn(work or self._settle(document.id, operation))

    def seen(self, connection: Document) -> dict[str, Any]:
        """Return the resource manager's answer about a connection's tunnels (REST API "Virtual Network Gateway
        Connections - Get"). The connection is up as soon as one tunnel is."""
        gateway = str(connection.body["properties"]["virtualNetworkGateway1"]["id"]).lower()
        known = self._hypervisor.tunnel_states(gateway)
        states = {name: known[name] for name in tunnel_names(self._store, connection) if name in known}
        return {
            "connectionStatus": _status(list(states.values())),
            "ingressBytesTransferred": sum(state.bytes_in for state in states.values()),
            "egressBytesTransferred": sum(state.bytes_out for state in states.values()),
            "tunnelConnectionStatus": [_tunnel(name, state) for name, state in states.items()],
        }

    async def _settle(self, document_id: str, operation: str) -> None:
        await self._follower.applied(self._store.revision)
        document = self._store.get(document_id)
        if document and document.hidden.get("state") == "Updating":
            self._set(document, state="Succeeded")
        self._operations.succeed(operation)

    async def _remove(self, document_id: str, operation: str, types: dict[str, TypeSpec]) -> None:
        await self._follower.applied(self._store.revision)
        document = self._store.get(document_id)
        if document:
            deletion.remove(types, self._store, document)
        self._operations.succeed(operation)

    def _set(self, document: Document, *, state: str) -> None:
        hidden = {**document.hidden, "state": state}
        self._store.put(document.id, type=document.type, body=document.body, hidden=hidden)


def _status(states: list[TunnelState]) -> str:
    if not states:
        return "Unknown"
    if any(state.up for state in states):
        return "Connected"
    return "NotConnected" if any(state.since for state in states) else "Connecting"


def _tunnel(name: str, state: TunnelState) -> dict[str, Any]:
    established = datetime.fromtimestamp(state.since, UTC).isoformat() if state.up and state.since else ""
    return {
        "tunnel": name,
        "connectionStatus": _status([state]),
        "ingressBytesTransferred": state.bytes_in,
        "egressBytesTransferred": state.bytes_out,
        "lastConnectionEstablishedUtcTime": established,
    }
