"""What this machine is: /etc/longhaul/node.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PATH = Path("/etc/longhaul/node.json")
PKI = Path("/etc/longhaul/pki")

CLIENT_PORT = 2379
PEER_PORT = 2380


@dataclass(frozen=True, kw_only=True)
class Node:
    """One control-plane machine."""

    machine: str
    role: str
    """``etcd``, ``events`` or ``api``."""
    index: int
    address: str
    version: str
    """Version of etcd or Kubernetes that its image must hold."""
    stores: dict[str, dict[str, str]]
    """Address of every member each store may ever have, by store and name: its own store on a member, both on an API
    server."""
    state_secret: str = ""
    """Members: the vault's secret that says whether the store was ever founded."""
    port: int = 0
    """API servers: port of kube-apiserver."""
    join_port: int = 0
    """API servers: port of the join service."""

    @classmethod
    def read(cls, path: Path = PATH) -> Node:
        """Read the file; ``OSError``, ``ValueError`` or ``TypeError`` when it is not one."""
        return cls(**json.loads(path.read_text()))

    @property
    def peers(self) -> dict[str, str]:
        """Members that this member's store may have besides itself: address by name."""
        return {name: address for name, address in self.stores[self.role].items() if name != self.machine}


def client_url(address: str) -> str:
    """Where a member at ``address`` answers clients."""
    return f"https://{address}:{CLIENT_PORT}"


def peer_url(address: str) -> str:
    """Where a member at ``address`` answers its peers."""
    return f"https://{address}:{PEER_PORT}"
