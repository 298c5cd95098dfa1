"""Leaving the load balancer: an API server stops only when another one serves in its place."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import api_checks
from node_config import Node

WAIT_S = 60.0
"""How long another server may take to be sent connections: it must have been found ready twice, 5 s apart
(components/azure/load_balancer.py)."""

STOP_S = 60.0
"""How long it may go on taking connections once it stops: --shutdown-delay-duration, and patience."""

RETRY_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Whether this server left, or had nothing to leave."""

    left: bool
    reason: str


def leave(node: Node, *, frontend: str, pki: Path) -> Departure:
    """Wait until another server answers at ``frontend``, address and port, then stop serving. The cloud's load balancer
    does not lead a server to itself: such a connection is never answered, so any answer is another server's."""
    if not api_checks.server(node, pki=pki).ok:
        return Departure(left=True, reason="it serves nobody")
    deadline = time.monotonic() + WAIT_S
    while not api_checks.answers(frontend, pki=pki):
        if time.monotonic() + RETRY_S > deadline:
            return Departure(left=False, reason=f"no other API server answers at {frontend}")
        time.sleep(RETRY_S)
    # At first it says that it is not ready and goes on serving: so long the load balancer takes it out. When it takes
    # no more connections only watches are left, which their clients begin anew elsewhere.
    subprocess.run(["systemctl", "--no-block", "stop", "kube-apiserver.service"], check=True)
    deadline = time.monotonic() + STOP_S
    while _listens(node):
        if time.monotonic() + RETRY_S > deadline:
            return Departure(left=False, reason=f"kube-apiserver takes connections {STOP_S:.0f} s after it was stopped")
        time.sleep(RETRY_S)
    return Departure(left=True, reason="another API server answers, this one has stopped")


def _listens(node: Node) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", node.port), timeout=RETRY_S):
            return True
    except OSError:
        return False
