"""Counts the packets on the lab's internet by source and destination: ``python -m lab capture``.

A packet socket in the internet's namespace listens on all links, and the capture counts each packet once, when it comes
in. Between sites only IKE and ESP in UDP should pass; all other packets are reported as in the clear. A capture lasts
for some seconds, or as long as a command runs.
"""

from __future__ import annotations

import asyncio
import select
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from lab.hypervisor import addresses
from lab.hypervisor.internet import PRIVATE
from lab.hypervisor.namespaces import call_in
from lab.hypervisor.networks import INTERNET
from lab.state import InitRecord, LabError

_EVERYTHING = 0x0003
"""ETH_P_ALL (packet(7))."""
_IPV4 = b"\x08\x00"
_OUTGOING = 4
"""PACKET_OUTGOING (packet(7)): a packet on its way out, already counted when it came in."""
_PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 50: "esp"}
_ESP = "esp-in-udp"
SEALED = ("ike", _ESP, "nat-keepalive")
"""Kinds of flows that may pass between sites."""
_LOOK_S = 0.2
"""Seconds between two looks whether a capture is over, while no packet comes in."""
_SERVICES = {
    (str(addresses.SERVICES), "tcp", 443): "cloud api",
    (str(addresses.DEPOT), "tcp", 443): "depot",
    (str(addresses.INTERNET_DNS), "udp", 53): "dns",
}


@dataclass(frozen=True)
class PacketFlow:
    """Packets of one kind from one place to another."""

    kind: str
    """``ike``, ``esp-in-udp``, ``nat-keepalive``, ``cloud api``, ``depot``, ``dns``, or the protocol and its port."""
    source: str
    destination: str


@dataclass(frozen=True)
class CapturePoint:
    """Holder of an address."""

    name: str
    site: str
    """Network to which the address belongs; empty when it belongs to no site."""


def kind(packet: bytes) -> PacketFlow:
    """Return the flow to which an IPv4 packet belongs. Raise ValueError when it is not IPv4 or is cut off."""
    header = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or len(packet) < header:
        raise ValueError("no IPv4 packet")
    source, destination = (str(IPv4Address(packet[at : at + 4])) for at in (12, 16))
    protocol, payload = _PROTOCOLS.get(packet[9], str(packet[9])), packet[header:]
    if int.from_bytes(packet[6:8], "big") & 0x1FFF:
        return PacketFlow(f"{protocol} fragment", source, destination)
    if protocol not in ("tcp", "udp") or len(payload) < 8:
        return PacketFlow(protocol, source, destination)
    ports = [int.from_bytes(payload[at : at + 2], "big") for at in (0, 2)]
    if protocol == "udp" and 500 in ports:
        return PacketFlow("ike", source, destination)
    if protocol == "udp" and 4500 in ports:
        return PacketFlow(_encapsulated(payload[8:]), source, destination)
    for side, address in zip(ports, (source, destination), strict=True):
        if name := _SERVICES.get((address, protocol, side)):
            return PacketFlow(name, source, destination)
    return PacketFlow(f"{protocol} {min(ports)}", source, destination)


def _encapsulated(content: bytes) -> str:
    """Return the kind of a packet in UDP on port 4500 (RFC 3948, section 2)."""
    if content == b"\xff":
        return "nat-keepalive"
    return "ike" if content[:4] == bytes(4) else _ESP


def places(status: Mapping[str, Any]) -> dict[str, CapturePoint]:
    """Return the holder of each address, from the daemon's status."""
    captures = {
        str(addresses.OPERATOR_PUBLIC): CapturePoint("the operator", ""),
        str(addresses.COMPANY): CapturePoint("the company", ""),
        str(addresses.SERVICES): CapturePoint("the clouds", ""),
        str(addresses.DEPOT): CapturePoint("the depot", ""),
        str(addresses.INTERNET_DNS): CapturePoint("the name server", ""),
    }
    for network in status.get("networks", ()):
        for address in network["egress"]:
            captures[address] = CapturePoint(f"NAT of {network['name']}", network["id"])
    for gateway in status.get("gateways", ()):
        for address in gateway["addresses"]:
            captures[address] = CapturePoint(gateway["name"], gateway["network"])
    for machine in status.get("machines", ()):
        if machine.get("public"):
            captures[machine["public"]] = CapturePoint(machine["name"], machine["network"])
    return captures


def in_the_clear(flow: PacketFlow, known: Mapping[str, CapturePoint]) -> bool:
    """Return whether a flow passes between sites unencrypted, or shows a private address."""
    ends = (flow.source, flow.destination)
    if any(IPv4Address(end) in range_ for end in ends for range_ in PRIVATE):
        return True
    return flow.kind not in SEALED and _between_sites(flow, known)


def _between_sites(flow: PacketFlow, known: Mapping[str, CapturePoint]) -> bool:
    sites = [known[end].site if end in known else "" for end in (flow.source, flow.destination)]
    return all(sites) and sites[0] != sites[1]


def summary(counts: Mapping[PacketFlow, Sequence[int]], status: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
    """Return ``flows``, sorted by bytes, largest first; ``in_the_clear``, the flows that should not pass; and
    ``sealed_packets``, the number of packets between sites with sealed content (ESP)."""
    known = places(status)
    rows = [
        {
            **asdict(flow),
            "from": known.get(flow.source, CapturePoint(flow.source, "")).name,
            "to": known.get(flow.destination, CapturePoint(flow.destination, "")).name,
            "packets": packets,
            "bytes": size,
            "in_the_clear": in_the_clear(flow, known),
        }
        for flow, (packets, size) in sorted(counts.items(), key=lambda item: -item[1][1])
    ]
    sealed = sum(packets for flow, (packets, _) in counts.items() if flow.kind == _ESP and _between_sites(flow, known))
    clear = [row for row in rows if row["in_the_clear"]]
    return {"seconds": seconds, "flows": rows, "in_the_clear": clear, "sealed_packets": sealed}


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Packets of a capture, and the end of the command that it accompanied."""

    counts: dict[PacketFlow, list[int]]
    """Packets and bytes (of IP) by flow."""
    seconds: float
    exit_code: int = 0
    """Exit code of the command; 0 without a command."""


def capture(record: InitRecord, *, seconds: float) -> Capture:
    """Listen for ``seconds``. Needs root."""
    until = time.monotonic() + seconds
    counts = asyncio.run(call_in(_internet(record), lambda: _count(lambda: time.monotonic() < until)))
    return Capture(counts=counts, seconds=seconds)


def capture_while(record: InitRecord, command: Sequence[str]) -> Capture:
    """Listen, then run ``command``, and listen until it has ended. All packets that came in before its end are counted,
    however slow the machine is. Needs root. Raise :class:`LabError` when there is no such command."""

    async def both() -> Capture:
        begun, ended = threading.Event(), threading.Event()
        counting = asyncio.create_task(call_in(_internet(record), lambda: _count(lambda: not ended.is_set(), begun)))
        beginning = asyncio.create_task(asyncio.to_thread(begun.wait))
        await asyncio.wait((counting, beginning), return_when=asyncio.FIRST_COMPLETED)
        since = time.monotonic()
        try:
            done = await asyncio.to_thread(subprocess.run, list(command), check=False) if begun.is_set() else None
        except OSError as error:
            raise LabError(f"{command[0]}: {error.strerror}") from None
        finally:
            ended.set()
            counts = await counting
        code = done.returncode if done else 1
        return Capture(counts=counts, seconds=time.monotonic() - since, exit_code=code)

    return asyncio.run(both())


def _internet(record: InitRecord) -> Path:
    return Path(f"/proc/{record.pid}/root{INTERNET.path}")


def _count(goes_on: Callable[[], bool], begun: threading.Event | None = None) -> dict[PacketFlow, list[int]]:
    """Count packets by flow while ``goes_on``; set ``begun`` once each packet that comes in is counted."""
    counts: defaultdict[PacketFlow, list[int]] = defaultdict(lambda: [0, 0])
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERYTHING)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        if begun is not None:
            begun.set()
        for packet in _packets(listener, goes_on):
            try:
                flow = kind(packet)
            except (ValueError, IndexError):
                continue
            counts[flow][0] += 1
            counts[flow][1] += len(packet)
    return dict(counts)


def _packets(listener: socket.socket, goes_on: Callable[[], bool]) -> Iterator[bytes]:
    """Yield IPv4 packets as they come in, and at the end those that already wait."""
    while goes_on():
        if select.select([listener], [], [], _LOOK_S)[0]:
            yield from _received(listener)
    while select.select([listener], [], [], 0)[0]:
        yield from _received(listener)


def _received(listener: socket.socket) -> Iterator[bytes]:
    frame, origin = listener.recvfrom(65536)
    if origin[2] != _OUTGOING and frame[12:14] == _IPV4:
        yield frame[14:]


def summary_text(traffic: Mapping[str, Any]) -> str:
    """Render a summary for people."""
    lines = [
        f"{row['kind']:<14} {row['from']:>20} -> {row['to']:<20} {row['packets']:>8} packets {row['bytes']:>12} bytes"
        for row in traffic["flows"]
    ]
    if traffic["in_the_clear"]:
        lines.append("Between sites, in the clear:")
        lines += [f"  {row['kind']} {row['source']} -> {row['destination']}" for row in traffic["in_the_clear"]]
    elif traffic["sealed_packets"]:
        lines.append(f"Between sites: nothing but IKE and ESP in UDP; {traffic['sealed_packets']} packets of ESP.")
    else:
        lines.append("Between sites: no packet with content, in the clear or not, so this proves nothing.")
    return "\n".join(lines) + "\n"
