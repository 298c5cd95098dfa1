"""States of the tunnels of VPN gateways, as the resource manager shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lab.cloud.azure.tunnels import tunnel_names
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import Hypervisor, TunnelState


class ConnectionGateways:
    """Knows the tunnels of gateways from the hypervisor."""

    def __init__(self, *, store: DocumentStore, hypervisor: Hypervisor) -> None:
        self._store = store
        self._hypervisor = hypervisor

    def connection_status(self, connection: ResourceDocument) -> dict[str, Any]:
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
