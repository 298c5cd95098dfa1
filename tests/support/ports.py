"""Free ports for programs that must know their port before they bind it."""

from __future__ import annotations

import random
import socket

RANGE = range(11000, 21000)
"""Below the ports that the kernel gives to connections (ip_local_port_range: 32768 and up), so that no connection
takes a port between its choice and its use; above Kubernetes' own (10248 to 10260), and apart from the labs'
(lab/state.py)."""


def free_ports(count: int) -> list[int]:
    """Return different ports that are free for TCP and UDP, on any address."""
    shuffled = iter(random.sample(RANGE, k=len(RANGE)))
    found: list[int] = []
    while len(found) < count:
        port = next(shuffled)
        if all(_is_free(kind, port) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)):
            found.append(port)
    return found


def _is_free(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as listener:
        try:
            listener.bind(("", port))
        except OSError:
            return False
    return True
