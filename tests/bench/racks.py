"""Racks: hosts from a bare Debian with SSH to Ready nodes by their number, and a run that finds nothing to do."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.support.project import Project
from tests.support.racks import add_hosts, deliver, rack_alone

ENV = "bench"
HOSTS = (1, 3, 8)


def measure(folder: Path) -> dict[str, float]:
    """The figures by name."""
    measured: dict[str, float] = {}
    for count in HOSTS:
        measured |= _hosts(folder, count)
    return measured


def _hosts(folder: Path, count: int) -> dict[str, float]:
    """``count`` bare hosts come to an environment that is up: two nodes for its DNS, a small control plane, and no AWS,
    since 128 inotify instances have no room for more."""
    project = Project.make(folder / f"racks-{count}", rack_alone(ENV, supernet="10.160.0.0/12"))
    try:
        add_hosts(project, "node-1")
        project.up()
        new = deliver(project, *(f"new-{index}" for index in range(count)))
        seconds, tasks = _rack(project, new)
        again, _ = _rack(project, new)
        return {
            f"{count} bare hosts to Ready, s": seconds,
            f"{count} bare hosts to Ready, tasks": tasks,
            f"{count} hosts with nothing to do, s": again,
        }
    finally:
        project.lab("down", "--all", check=False)


def _rack(project: Project, nodes: list[str]) -> tuple[float, float]:
    """Seconds of a run for the nodes, which must end well, and how many tasks it had."""
    began = time.monotonic()
    done = project.longhaul("rack", "--limit", ",".join(nodes), "--json", "--profile")
    seconds = time.monotonic() - began
    return seconds, float(len(json.loads(done.stdout)["tasks"]))
