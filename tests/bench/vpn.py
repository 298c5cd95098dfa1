"""Benchmark of one VPN machine in the lab: 200 laptops that connect at once, and what one of them gets through its
tunnel. Laptops, VPN machine and what is inside share this machine's processors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from lab.image import bake
from lab.state import LabState
from tests.lab.hypervisor.conftest import Lab, eventually
from tests.lab.hypervisor.vpn_machine import DONE, INSIDE, Doors, boot

LAPTOPS = 200
CLIENT = (
    "dev null",
    "ifconfig-noexec",
    "route-noexec",
    "connect-timeout 60",
    "hand-window 120",
    "explicit-exit-notify 0",
)
"""A laptop without a device: the handshake alone."""
LASTS_S = 10.0

SEND = """
import socket
place = socket.create_server(("0.0.0.0", 8000))
print("ready", flush=True)
one, _ = place.accept()
try:
    while True:
        one.sendall(bytes(65536))
except OSError:
    pass
"""
TAKE = """
import socket, sys, time
began, taken, lasts = time.monotonic(), 0, float(sys.argv[2])
with socket.create_connection((sys.argv[1], 8000)) as one:
    while time.monotonic() < began + lasts:
        taken += len(one.recv(65536))
print(taken * 8 / (time.monotonic() - began) / 1e6)
"""
"""Prints the megabits a second that come from an address."""
TICKS = "cut --delimiter=' ' --fields=14-17 /proc/$(systemctl show --value --property=MainPID longhaul-vpn)/stat"
"""Prints OpenVPN's processor time and that of the programs it has run (proc(5), ``utime`` to ``cstime``)."""


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    images = bake(log_dir=folder, progress=print)
    lab = Lab(LabState.of("bench-vpn", root=folder / "vpn"), images.node)
    try:
        doors = boot(lab, folder)
        yield from _handshakes(doors)
        yield from _throughput(doors)
    finally:
        lab.lab("down", "--all", check=False)


def _handshakes(doors: Doors) -> Iterator[tuple[str, float]]:
    paths = [doors.write_settings(f"corp:{number}", *CLIENT) for number in range(LAPTOPS)]
    with ExitStack() as stack:
        before, began = _processor_s(doors), time.monotonic()
        logs = [stack.enter_context(doors.started(path)) for path in paths]
        eventually(lambda: all(DONE in log.read_text() for log in logs), what="all are connected")
        yield f"VPN, {LAPTOPS} laptops connect at once, s", time.monotonic() - began
        yield f"VPN, processor of {LAPTOPS} handshakes on its machine, s", _processor_s(doors) - before


def _throughput(doors: Doors) -> Iterator[tuple[str, float]]:
    doors.lab.inside(INSIDE, "systemctl stop echo")
    words = [sys.executable, "-m", "lab", "shell", "--env", doors.lab.state.env]
    words += ["--state-root", str(doors.lab.state.root), INSIDE, "--", "python3", "-c", SEND]
    with doors.connected(), subprocess.Popen(words, stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == b"ready\n"
        before = _processor_s(doors)
        take = doors.laptop("python3", "-c", TAKE, str(doors.inside), str(LASTS_S))
        yield (
            "VPN, one laptop's download, Mbit/s",
            float(subprocess.run(take, capture_output=True, text=True, check=True).stdout),
        )
        yield "VPN, processor of that on its machine, % of one", (_processor_s(doors) - before) / LASTS_S * 100


def _processor_s(doors: Doors) -> float:
    ticks = doors.lab.inside(doors.own.name, TICKS).stdout.split()
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
