"""Benchmarks of racks: hosts from a bare Debian with SSH to Ready nodes, for each number of hosts, and a run that finds
nothing to do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.onprem_hosts import add_hosts, deliver, hosts_alone
from tests.support.project import Project

ENV = "bench"
HOSTS = (1, 3, 8)
SHOWN = 5
"""Number of the slowest tasks that are shown."""


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    for count in HOSTS:
        yield from _hosts(folder, count)


def _hosts(folder: Path, count: int) -> Iterator[tuple[str, float]]:
    """Measure ``count`` bare hosts that join an environment that is up. It has two nodes for its DNS, a small control
    plane and no AWS, since 128 inotify instances have no room for more."""
    project = Project.make(folder / f"racks-{count}", hosts_alone(ENV, supernet="10.160.0.0/12"))
    try:
        add_hosts(project, "node-1")
        project.up()
        new = deliver(project, *(f"new-{index}" for index in range(count)))
        seconds, tasks = _rack(project, new)
        again, _ = _rack(project, new)
        hosts = "1 bare host" if count == 1 else f"{count} bare hosts"
        yield f"{hosts} to Ready, s", seconds
        yield f"{hosts} to Ready, tasks", float(len(tasks))
        for task in sorted(tasks, key=lambda name: -tasks[name])[:SHOWN]:
            yield f"{hosts}, {task}, s", tasks[task]
        yield f"{hosts.replace('bare ', '')} with nothing to do, s", again
    finally:
        project.lab("down", "--all", check=False)


def _rack(project: Project, nodes: list[str]) -> tuple[float, dict[str, float]]:
    """Run ``longhaul hosts`` for the nodes, which must succeed. Return its seconds, and each task's seconds on the
    slowest host."""
    began = time.monotonic()
    done = project.longhaul("hosts", "--limit", ",".join(nodes), "--json", "--profile")
    seconds = time.monotonic() - began
    return seconds, {name: took["slowest"] for name, took in json.loads(done.stdout)["tasks"].items()}
