"""Folder of a control-plane machine's certificates, and URLs of etcd members."""

from __future__ import annotations

from pathlib import Path

from contract import paths
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT

PKI = Path(paths.PKI)


def client_url(address: str) -> str:
    """Return the client URL of a member at ``address``."""
    return f"https://{address}:{ETCD_CLIENT_PORT}"


def peer_url(address: str) -> str:
    """Return the peer URL of a member at ``address``."""
    return f"https://{address}:{ETCD_PEER_PORT}"
