"""Configuration of this machine: /etc/longhaul/node.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from contract import paths
from contract.endpoints import ETCD_CLIENT_PORT, ETCD_PEER_PORT

PATH = Path("/etc/longhaul/node.json")
PKI = Path(paths.PKI)

MEMBERS = ("etcd", "events")
"""Roles of members of etcd clusters."""


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """Configuration of a control-plane machine."""

    machine: str
    role: str
    """Role of the machine: ``etcd``, ``events``, ``api`` or ``vpn``."""
    index: int
    address: str
    version: str
    """Version of etcd or Kubernetes that the machine's image must hold."""
    stores: dict[str, dict[str, str]]
    """Addresses of all members that each etcd cluster may ever have, by cluster and member: on a member only its own
    cluster, on an API server both."""
    state_secret: str = ""
    """Members: name of the vault's secret that records whether the etcd cluster was ever bootstrapped."""
    port: int = 0
    """API servers and VPN machines: port of kube-apiserver."""
    learner: bool = False
    """Members: True for the member that never votes, whose disk outlives its machine."""
    join_port: int = 0
    """API servers: port of the join endpoint."""
    queues: bool = False
    """API servers: True when Kueue and JobSet run beside them."""
    sign_in_port: int = 0
    """VPN machines: port of the sign-in endpoint."""

    @property
    def is_member(self) -> bool:
        """True for a member of an etcd cluster."""
        return self.role in MEMBERS

    @classmethod
    def read(cls, path: Path = PATH) -> NodeConfig:
        """Read the file; raise ``OSError``, ``ValueError`` or ``TypeError`` when it is malformed."""
        return cls(**json.loads(path.read_text()))

    @property
    def peers(self) -> dict[str, str]:
        """Addresses by name of the other members that this member's etcd cluster may have."""
        return {name: address for name, address in self.stores[self.role].items() if name != self.machine}


def client_url(address: str) -> str:
    """Return the client URL of a member at ``address``."""
    return f"https://{address}:{ETCD_CLIENT_PORT}"


def peer_url(address: str) -> str:
    """Return the peer URL of a member at ``address``."""
    return f"https://{address}:{ETCD_PEER_PORT}"
