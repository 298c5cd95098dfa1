"""Take an API server out of the load balancer, if another API server serves in its place."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.documents.node_answers import Departure
from contract.units import KUBE_APISERVER
from kube_apiserver import checks as api_checks

WAIT_S = 60.0
"""Longest wait in seconds until another server receives connections. The load balancer must have found that server
ready twice, 5 s apart (components/azure/load_balancer.py)."""

STOP_S = 60.0
"""Longest time in seconds for which kube-apiserver may accept connections after its stop: --shutdown-delay-duration and
a margin."""

RETRY_S = 1.0

RETURN = "kube-apiserver-return.timer"
"""Unit that starts kube-apiserver again."""


def leave(node: NodeConfig, *, frontend: str, pki: Path) -> Departure:
    """Wait until another server answers at ``frontend`` (address and port), then stop kube-apiserver. Any answer comes
    from another server, because the cloud's load balancer never connects a machine to itself."""
    if not api_checks.server(node, pki=pki).ok:
        return Departure(left=True, reason="kube-apiserver does not serve")
    deadline = time.monotonic() + WAIT_S
    while not api_checks.answers(frontend, pki=pki):
        if time.monotonic() + RETRY_S > deadline:
            return Departure(left=False, reason=f"no other API server answers at {frontend}")
        time.sleep(RETRY_S)
    # If `up` is interrupted before it deletes the machine, the machine stays as it is, and the next `up` sees no
    # difference.
    subprocess.run(["systemctl", "restart", RETURN], check=True)
    # After the stop kube-apiserver first reports that it is not ready and still serves, which gives the load balancer
    # time to take it out. Once it accepts no more connections, only watches are left; their clients start them again
    # elsewhere.
    subprocess.run(["systemctl", "--no-block", "stop", KUBE_APISERVER], check=True)
    deadline = time.monotonic() + STOP_S
    while _listens(node):
        if time.monotonic() + RETRY_S > deadline:
            return Departure(
                left=False, reason=f"kube-apiserver still accepts connections {STOP_S:.0f} s after its stop"
            )
        time.sleep(RETRY_S)
    return Departure(left=True, reason="another API server answers, and this one is stopped")


def _listens(node: NodeConfig) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", node.port), timeout=RETRY_S):
            return True
    except OSError:
        return False
