"""Free ports for programs that must know their port before they bind it."""

from __future__ import annotations

import random
import socket
from ipaddress import IPv4Address
from pathlib import Path

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


def free_loopback_number() -> int:
    """Return a number N so that no program uses an address of 127.N.0.0/16, from 2 on. Tests that run side by side
    chose the same one of 253 now and then, and their programs met."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/udp"))
    lines = [line.split() for table in tables for line in table.read_text(encoding="ascii").splitlines()[1:]]
    # proc(5): addresses are hexadecimal, in the byte order of the machine, little-endian on all that this runs on.
    used = [IPv4Address(bytes.fromhex(fields[1].partition(":")[0])[::-1]).packed for fields in lines]
    return random.choice([n for n in range(2, 255) if not any(address[:2] == bytes((127, n)) for address in used)])


def _is_free(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as listener:
        try:
            listener.bind(("", port))
        except OSError:
            return False
    return True
