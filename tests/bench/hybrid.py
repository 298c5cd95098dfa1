"""Benchmarks of the hybrid lab: the time that it takes, the time that nodes take to join, a tunnel's throughput."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.cloud import instances, resize
from tests.support.project import Project, hybrid

ENV = "bench"
MANY = 8
SENT_MIB = 64
PINGS = 50
PORT = 5201

_SINK = f"""
import socket
listener = socket.create_server(("", {PORT}))
print("listening", flush=True)
connection, _ = listener.accept()
size = 0
while data := connection.recv(1 << 20):
    size += len(data)
connection.sendall(str(size).encode())
"""

_SOURCE = f"""
import socket, sys, time
connection = socket.create_connection((sys.argv[1], {PORT}))
block = bytes(1 << 20)
began = time.monotonic()
for _ in range({SENT_MIB}):
    connection.sendall(block)
connection.shutdown(socket.SHUT_WR)
size = int(connection.recv(64))
print(8 * size / (time.monotonic() - began) / 1e6)
"""


def measure(folder: Path) -> dict[str, float]:
    """Return the figures by name."""
    return {**_whole(folder), **_many(folder)}


def _whole(folder: Path) -> dict[str, float]:
    project = Project.make(folder / "hybrid", hybrid(ENV, supernet="10.160.0.0/12"))
    try:
        return {
            "hybrid lab, cached tools, s": _seconds(project.up),
            "hybrid lab, all in place, s": _seconds(project.up),
            "one node, from the call to Ready, s": _seconds(lambda: _grow(project, 2)),
            **_tunnel(project),
        }
    finally:
        project.lab("down", "--all", check=False)


def _many(folder: Path) -> dict[str, float]:
    """Measure many nodes at once, with a small control plane and no rack: more need more than 128 inotify instances."""
    raw = hybrid(ENV, supernet="10.160.0.0/12", etcd=1, events=1, api=1)
    del raw["sites"]["rack"], raw["bare_metal"]
    project = Project.make(folder / "many", raw)
    try:
        project.up()
        return {f"{MANY} nodes at once, from the call to Ready, s": _seconds(lambda: _grow(project, 1 + MANY))}
    finally:
        project.lab("down", "--all", check=False)


def _grow(project: Project, size: int) -> None:
    """Ask for more machines as an autoscaler does, and wait until all are Ready nodes."""
    resize(project, f"{ENV}-cpu", size)
    while len(names := instances(project, f"{ENV}-cpu")) < size:
        pass
    nodes = [f"node/{name}" for name in names]
    while project.kubectl("get", *nodes, check=False).returncode != 0:
        pass
    project.kubectl("wait", "--for=condition=Ready", "--timeout=180s", *nodes)


def _tunnel(project: Project) -> dict[str, float]:
    """Measure between the AWS node and the rack's, by their own addresses: the throughput of user-space ESP."""
    listed = json.loads(project.kubectl("get", "nodes", "--output=json").stdout)["items"]
    address = {
        item["metadata"]["name"]: next(a["address"] for a in item["status"]["addresses"] if a["type"] == "InternalIP")
        for item in listed
    }
    rack = f"{ENV}-node-0"
    cloud = instances(project, f"{ENV}-cpu")[0]
    sink = project.shell_in_background(rack, "python3", "-c", _SINK)
    try:
        (sink.stdout and sink.stdout.readline())
        rate = float(project.longhaul("shell", cloud, "--", "python3", "-c", _SOURCE, address[rack]).stdout)
    finally:
        sink.kill()
        sink.communicate()
    ping = project.on(cloud, f"ping -q -c {PINGS} -i 0.02 {address[rack]}").stdout
    average = re.search(r"= [\d.]+/([\d.]+)/", ping)
    return {
        "tunnel AWS to rack, Mbit/s": rate,
        "tunnel AWS to rack and back, ms": float(average[1]) if average else float("nan"),
    }


def _seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began
