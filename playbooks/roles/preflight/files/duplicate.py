"""Find other machines on the segment that have this machine's address, by ARP probes (RFC 5227). Probes contain no
sender's address, so they change no machine's ARP table. The program prints a "problem" line for each other machine that
claims the address. Argument: the address.

The program runs on machines as root, and needs only Python's standard library. It prints nothing if the machine does
not have the address, or has the address on an interface that is not Ethernet.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

ETHERNET = 1
"""ARPHRD_ETHER (linux/if_arp.h)."""
ETHERNET_LINK = "ether"
"""Name of Ethernet in iproute2 (lib/ll_types.c)."""
ETH_P_ARP = 0x0806
"""linux/if_ether.h."""
ETH_P_IP = 0x0800
REQUEST = 1
PROBES = 3
"""Number of probes, which is that of RFC 5227 (PROBE_NUM), because a probe may be lost."""
WAIT_S = 0.2
"""Seconds to wait after each probe. The RFC's 1 to 2 seconds are for links that come up. On a link that is up, an
answer takes milliseconds."""
HEADER = struct.Struct("!6s6sH")
ARP = struct.Struct("!HHBBH6s4s6s4s")


def probe(source: bytes, address: bytes) -> bytes:
    """Return the frame of a probe for ``address`` from the hardware address ``source``."""
    header = HEADER.pack(b"\xff" * 6, source, ETH_P_ARP)
    return header + ARP.pack(ETHERNET, ETH_P_IP, 6, 4, REQUEST, source, bytes(4), bytes(6), address)


def holder(frame: bytes, address: bytes) -> bytes | None:
    """Return the hardware address of the machine that claims ``address`` in the frame; None for any other frame."""
    if len(frame) < HEADER.size + ARP.size:
        return None
    kind = HEADER.unpack_from(frame)[2]
    hardware, protocol, _, _, _, sender, claimed, _, _ = ARP.unpack_from(frame, HEADER.size)
    is_claim = (kind, hardware, protocol, claimed) == (ETH_P_ARP, ETHERNET, ETH_P_IP, address)
    return bytes(sender) if is_claim else None


def links() -> list[dict[str, Any]]:
    """Return the interfaces and their addresses, by the kernel's answer to ip, because a container's /sys may show
    another network."""
    argv = ["ip", "-json", "address", "show"]
    return list(json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout or "[]"))


def interface(address: str, there: list[dict[str, Any]]) -> str | None:
    """Return the name of the Ethernet interface with the address, or None."""
    for link in there:
        if any(entry.get("local") == address for entry in link.get("addr_info", ())):
            return str(link["ifname"]) if link.get("link_type") == ETHERNET_LINK else None
    return None


def own_addresses(there: list[dict[str, Any]]) -> set[bytes]:
    """Return the hardware addresses of this machine. A machine with two interfaces on one segment may answer its own
    probes."""
    return {bytes.fromhex(link["address"].replace(":", "")) for link in there if link.get("link_type") == ETHERNET_LINK}


def others(name: str, address: str, known: set[bytes]) -> Iterator[bytes]:
    """Yield the hardware addresses that answer and are not in ``known``."""
    wanted = socket.inet_aton(address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP)) as segment:
        segment.bind((name, ETH_P_ARP))
        hardware = segment.getsockname()[4]
        for _ in range(PROBES):
            segment.send(probe(hardware, wanted))
            end = time.monotonic() + WAIT_S
            while (left := end - time.monotonic()) > 0:
                segment.settimeout(left)
                try:
                    sender = holder(segment.recv(2048), wanted)
                except TimeoutError:
                    break
                if sender is not None and sender not in known:
                    yield sender


def main() -> None:
    """Send the probes, and print a line for each other machine that has the address."""
    address, there = sys.argv[1], links()
    name = interface(address, there)
    if name is None:
        return
    for sender in sorted(set(others(name, address, own_addresses(there)))):
        print(f"problem {sender.hex(':')} on {name} has {address} as well, its address in the plan: take it from there")


if __name__ == "__main__":
    main()
