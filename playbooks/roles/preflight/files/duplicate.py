"""Asks the segment whether another machine has this one's address, by ARP probes (RFC 5227): they name no sender, so
they change nobody's table. Prints a "problem" line for each other machine that says it has it. Argument: the address.

Runs on machines with Python's standard library, as root. It is silent where the machine has no such address, or has it
on no Ethernet.
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
"""What iproute2 calls it (lib/ll_types.c)."""
ETH_P_ARP = 0x0806
"""linux/if_ether.h."""
ETH_P_IP = 0x0800
REQUEST = 1
PROBES = 3
"""As many as RFC 5227 has (PROBE_NUM), since one may be lost."""
WAIT_S = 0.2
"""After each. The RFC's 1 to 2 seconds are for links that come up; on one that is up an answer takes milliseconds."""
HEADER = struct.Struct("!6s6sH")
ARP = struct.Struct("!HHBBH6s4s6s4s")


def probe(own: bytes, address: bytes) -> bytes:
    """The frame that asks who has ``address``, from the hardware address ``own``."""
    header = HEADER.pack(b"\xff" * 6, own, ETH_P_ARP)
    return header + ARP.pack(ETHERNET, ETH_P_IP, 6, 4, REQUEST, own, bytes(4), bytes(6), address)


def holder(frame: bytes, address: bytes) -> bytes | None:
    """The hardware address of who says that it has ``address``; None for a frame that says nothing of the kind."""
    if len(frame) < HEADER.size + ARP.size:
        return None
    kind = HEADER.unpack_from(frame)[2]
    hardware, protocol, _, _, _, sender, claimed, _, _ = ARP.unpack_from(frame, HEADER.size)
    said = (kind, hardware, protocol, claimed) == (ETH_P_ARP, ETHERNET, ETH_P_IP, address)
    return bytes(sender) if said else None


def links() -> list[dict[str, Any]]:
    """The interfaces with their addresses, as the kernel tells them: a container's /sys may be of another network."""
    argv = ["ip", "-json", "address", "show"]
    return list(json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout or "[]"))


def interface(address: str, there: list[dict[str, Any]]) -> str | None:
    """The Ethernet interface that has it."""
    for link in there:
        if any(one.get("local") == address for one in link.get("addr_info", ())):
            return str(link["ifname"]) if link.get("link_type") == ETHERNET_LINK else None
    return None


def own_addresses(there: list[dict[str, Any]]) -> set[bytes]:
    """The hardware addresses of this machine, which may answer itself where two interfaces are on one segment."""
    return {bytes.fromhex(link["address"].replace(":", "")) for link in there if link.get("link_type") == ETHERNET_LINK}


def others(name: str, address: str, own: set[bytes]) -> Iterator[bytes]:
    """The hardware addresses of other machines than the one with ``own`` that answer."""
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
                if sender is not None and sender not in own:
                    yield sender


def main() -> None:
    """Ask, and say who else has it."""
    address, there = sys.argv[1], links()
    name = interface(address, there)
    if name is None:
        return
    for sender in sorted(set(others(name, address, own_addresses(there)))):
        print(f"problem {sender.hex(':')} on {name} has {address} as well, its address in the plan: take it from there")


if __name__ == "__main__":
    main()
