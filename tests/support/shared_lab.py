"""One lab for the test modules with the same needs. It is made once, repaired and checked before each module, and made
anew where it is not as it should be."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.model import load
from tests.support.cloud import instances, resize
from tests.support.onprem_hosts import add_hosts
from tests.support.project import Project, eventually, hybrid

ENV = "shared"
POOL = "cpu"
GROUP = f"{ENV}-{POOL}"
MACHINES = 2
"""Machines in the pool before each module."""
SERVERS = tuple(f"{ENV}-api-{index}" for index in range(2))
HOST = f"{ENV}-node-0"
SPARE_HOSTS = ("gpu-0", "gpu-1")
"""Further hosts in its rack, also without GPUs: tests give them some."""
SETTLE_S = 120.0
"""Time limit in seconds for a lab to get from the state that one module left to the one that the next expects; making
it anew takes less."""
MOST_FAILURES = 2
"""Failures in a row after which it is not made again for each further test."""
BROKEN = (AssertionError, LookupError, ValueError)
"""Exceptions from a look at a lab that does not answer, or answers nonsense."""


def environment() -> dict[str, Any]:
    """Return the lab's environment with the smallest control plane that has two API servers, and an empty pool of GPU
    machines, which makes it an environment with GPUs. It has queues."""
    raw = hybrid(ENV, supernet="10.144.0.0/12", etcd=1, events=1, api=len(SERVERS))
    raw["pools"][POOL]["min"] = MACHINES
    raw["queues"] = True
    raw["pools"]["a10g"] = {"site": "use1", "machine_type": "g5.xlarge", "min": 0, "max": 1}
    # Nothing of it is ever made; what reads the groups of all clouds has one of Azure to read.
    raw["pools"]["spare"] = {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 0, "max": 1}
    return raw


@dataclass
class SharedLab:
    """The lab, as long as there is one. ``folder``: returns an empty folder for a project, another each time."""

    folder: Callable[[], Path]
    project: Project | None = field(default=None, init=False)
    used: bool = field(default=False, init=False)
    """True once its lab was to be up."""
    failures: int = field(default=0, init=False)
    """Number of times in a row that it could not be made."""

    def fresh(self) -> Project:
        """Return a project whose lab :meth:`take` has yet to make, for tests that must act before it is up."""
        if self.project is None or self.used:
            self.down()
            self.project = Project.make(self.folder(), environment())
            add_hosts(self.project, *SPARE_HOSTS)
        return self.project

    def take(self) -> Project:
        """Return the lab with two machines in its pool and all of its hosts, every node ready and free, nothing left in
        the default namespace, and its status healthy. AssertionError when it cannot be made."""
        if self.project is not None and self.used:
            try:
                settle(self.project)
            except BROKEN as error:
                warnings.warn(f"the shared lab is made anew: {error}", stacklevel=2)
            else:
                return self.project
        assert self.failures < MOST_FAILURES, f"the shared lab could not be made {self.failures} times: see the first"
        project = self.fresh()
        self.used = True
        self.failures += 1
        project.up()
        settle(project)
        self.failures = 0
        return project

    def as_it_is(self) -> Project:
        """Return the lab in whatever state the last module left it, for the test that takes it down."""
        return self.project if self.project is not None and self.used else self.take()

    def down(self) -> None:
        """Remove everything of it."""
        if self.project is not None and self.used:
            self.project.lab("down", "--all", check=False)
        self.project, self.used = None, False


def settle(project: Project) -> None:
    """Restore what modules may change, and wait until the status is healthy; AssertionError when it does not become
    so."""
    _forget_orphans(project)
    # Everything except the API's own Service.
    project.kubectl("delete", "pods,services", "--selector=component!=apiserver", "--now", "--timeout=60s")
    resize(project, GROUP, MACHINES)
    eventually(lambda: _is_itself(project), limit_s=SETTLE_S)
    eventually(lambda: bool(project.status()["healthy"]), limit_s=SETTLE_S)


def _forget_orphans(project: Project) -> None:
    """Delete the pods of machines that are gone: no kubelet says that they have ended, and Kubernetes waits for 40 s
    (``podgc``)."""
    there = {item["metadata"]["name"] for item in nodes(project)}
    pods = json.loads(project.kubectl("get", "pods", "--output=json").stdout)["items"]
    orphans = [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName", "") not in {"", *there}]
    if orphans:
        project.kubectl("delete", "pods", *orphans, "--force", "--grace-period=0", "--ignore-not-found")


def _is_itself(project: Project) -> bool:
    """Return whether exactly its machines and hosts are nodes, and each accepts any pod."""
    machines = instances(project, GROUP)
    hosts = {f"{ENV}-{host.name}" for host in load(project.stack_file).hosts}
    return len(machines) == MACHINES and ready(project) == hosts.union(machines) and not _held(project)


def nodes(project: Project, *selectors: str) -> list[dict[str, Any]]:
    """Return nodes as the API has them."""
    return list(json.loads(project.kubectl("get", "nodes", *selectors, "--output=json").stdout)["items"])


def ready(project: Project) -> set[str]:
    """Return the names of the nodes that are ready."""
    return {
        item["metadata"]["name"]
        for item in nodes(project)
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"]["conditions"])
    }


def _held(project: Project) -> bool:
    """Return whether any node refuses some pods, as a cordoned one does."""
    return any(item["spec"].get("taints") or item["spec"].get("unschedulable") for item in nodes(project))
