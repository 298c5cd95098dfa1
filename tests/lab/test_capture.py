"""Descriptions of captured packets."""

from __future__ import annotations

import os
import sys
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from lab import capture
from lab.capture import PacketFlow, kind, summary, summary_text
from lab.state import InitRecord, LabError

STATUS = {
    "networks": [{"id": "net-a", "name": "a", "egress": ["198.51.100.130"]}],
    "gateways": [
        {"name": "gw-a", "network": "net-a", "addresses": ["198.51.100.64"]},
        {"name": "gw-b", "network": "net-b", "addresses": ["198.51.100.96"]},
    ],
    "machines": [{"name": "gw-rack", "network": "net-c", "public": "198.51.100.20"}],
}
UDP, TCP = 17, 6


def packet(
    source: str, destination: str, protocol: int, ports: tuple[int, int] = (0, 0), content: bytes = b"", offset: int = 0
) -> bytes:
    addresses = IPv4Address(source).packed + IPv4Address(destination).packed
    header = b"\x45" + bytes(5) + offset.to_bytes(2, "big") + bytes([64, protocol, 0, 0]) + addresses
    return header + ports[0].to_bytes(2, "big") + ports[1].to_bytes(2, "big") + bytes(4) + content


@pytest.mark.parametrize(
    ("protocol", "ports", "content", "expected"),
    [
        (UDP, (500, 500), b"", "ike"),
        (UDP, (4500, 4500), bytes(4) + b"header", "ike"),
        (UDP, (4500, 4500), b"\x01\x02\x03\x04sealed", "esp-in-udp"),
        (UDP, (4500, 4500), b"\xff", "nat-keepalive"),
        (TCP, (40000, 10250), b"", "tcp 10250"),
        (1, (0, 0), b"", "icmp"),
        (47, (0, 0), b"", "47"),
    ],
)
def test_kinds_of_packets(protocol: int, ports: tuple[int, int], content: bytes, expected: str) -> None:
    assert kind(packet("198.51.100.64", "198.51.100.96", protocol, ports, content)).kind == expected


def test_a_fragment_has_no_ports() -> None:
    assert kind(packet("198.51.100.64", "198.51.100.96", UDP, (4500, 4500), offset=100)).kind == "udp fragment"


def test_services_are_named() -> None:
    assert kind(packet("198.51.100.130", "198.51.100.10", TCP, (40000, 443))).kind == "cloud api"
    assert kind(packet("198.51.100.11", "198.51.100.20", TCP, (443, 40000))).kind == "depot"


@pytest.mark.parametrize("damaged", [b"\x45\x00", bytes(40)])
def test_what_is_no_packet_is_refused(damaged: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        kind(damaged)


def clear(flow: PacketFlow) -> bool:
    return bool(summary({flow: [1, 60]}, STATUS, seconds=1.0)["in_the_clear"])


def test_between_sites_only_what_is_sealed_is_in_order() -> None:
    assert not clear(PacketFlow("esp-in-udp", "198.51.100.64", "198.51.100.96"))
    assert not clear(PacketFlow("ike", "198.51.100.20", "198.51.100.64"))
    assert clear(PacketFlow("tcp 80", "198.51.100.20", "198.51.100.64"))
    assert clear(PacketFlow("icmp", "198.51.100.130", "198.51.100.96"))
    assert clear(PacketFlow("tcp 80", "10.1.0.4", "198.51.100.96"))


def test_one_sites_own_traffic_and_the_clouds_are_in_order() -> None:
    assert not clear(PacketFlow("icmp", "198.51.100.130", "198.51.100.64"))
    assert not clear(PacketFlow("cloud api", "198.51.100.130", "198.51.100.10"))
    assert not clear(PacketFlow("tcp 22", "198.51.100.2", "198.51.100.20"))


def test_a_summary_is_told_with_names_the_busiest_first() -> None:
    counts = {
        PacketFlow("ike", "198.51.100.64", "198.51.100.96"): [2, 200],
        PacketFlow("esp-in-udp", "198.51.100.64", "198.51.100.96"): [9, 9000],
    }
    text = summary_text(summary(counts, STATUS, seconds=1.0))
    lines = text.splitlines()
    assert lines[0].split()[:4] == ["esp-in-udp", "gw-a", "->", "gw-b"]
    assert lines[-1] == "Between sites: nothing but IKE and ESP in UDP; 9 packets of ESP."
    loud = summary_text(summary({PacketFlow("icmp", "198.51.100.20", "198.51.100.64"): [1, 84]}, STATUS, seconds=1.0))
    assert "in the clear:\n  icmp 198.51.100.20 -> 198.51.100.64" in loud


def test_a_capture_without_a_packet_between_sites_proves_nothing() -> None:
    tunnel = PacketFlow("ike", "198.51.100.64", "198.51.100.96")
    strange = PacketFlow("esp-in-udp", "198.51.100.64", "198.51.100.64")
    text = summary_text(summary({tunnel: [2, 200], strange: [1, 100]}, STATUS, seconds=1.0))
    assert text.splitlines()[-1].endswith("so this proves nothing.")


@pytest.fixture(name="loopback")
def _loopback(monkeypatch: pytest.MonkeyPatch) -> InitRecord:
    """A capture on the interfaces of this machine in place of the lab's internet."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    monkeypatch.setattr(capture, "_internet", lambda _record: Path("/proc/self/ns/net"))
    return InitRecord.of(os.getpid(), port=1)


SENDING = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 4500))"
SENT = PacketFlow("esp-in-udp", "127.0.0.1", "127.0.0.1")


def test_every_packet_of_the_command_is_in_its_capture(loopback: InitRecord) -> None:
    for _ in range(5):
        captured = capture.capture_while(loopback, [sys.executable, "-c", f"{SENDING}; raise SystemExit(3)"])
        assert (captured.counts[SENT][0], captured.exit_code) == (1, 3)


def test_a_capture_of_no_such_command_is_an_error(loopback: InitRecord) -> None:
    with pytest.raises(LabError, match="no-such-command: No such file"):
        capture.capture_while(loopback, ["no-such-command"])
