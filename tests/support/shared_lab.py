"""One lab for the modules of tests that need no more than the same: made once, put right and looked at before each
module, and made anew where it is not as it should be."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.model import load
from tests.support.cloud import instances, set_desired_capacity
from tests.support.project import Project, eventually, hybrid
from tests.support.racks import add_hosts

ENV = "shared"
POOL = "cpu"
GROUP = f"{ENV}-{POOL}"
MACHINES = 2
"""Of the pool, before each module."""
SERVERS = tuple(f"{ENV}-api-{index}" for index in range(2))
HOST = f"{ENV}-node-0"
SPARE_HOSTS = ("gpu-0", "gpu-1")
"""In the rack beside it, as bare of GPUs: tests give them some."""
SETTLE_S = 120.0
"""How long a lab may take from what one module left to what the next one expects, seconds; one that is made anew
takes less."""
MOST_FAILURES = 2
"""One that cannot be made so often in a row is not tried again for each of its many tests."""
BROKEN = (AssertionError, LookupError, ValueError)
"""What a lab that does not answer, or not sensibly, makes of a look at it."""


def environment() -> dict[str, Any]:
    """The lab's environment with the smallest control plane that has two API servers, and a pool of GPUs with no
    machine, which makes it one with GPUs."""
    raw = hybrid(ENV, supernet="10.144.0.0/12", etcd=1, events=1, api=len(SERVERS))
    raw["pools"][POOL]["min"] = MACHINES
    raw["pools"]["a10g"] = {"site": "use1", "machine_type": "g5.xlarge", "min": 0, "max": 1}
    return raw


@dataclass
class SharedLab:
    """The lab, as long as there is one. ``folder``: an empty folder for a project, another each time."""

    folder: Callable[[], Path]
    project: Project | None = field(default=None, init=False)
    used: bool = field(default=False, init=False)
    """Whether its lab was ever to be up."""
    failures: int = field(default=0, init=False)
    """How often it could not be made, in a row."""

    def fresh(self) -> Project:
        """A project whose lab has yet to be made, by :meth:`take`: for who must be there first."""
        if self.project is None or self.used:
            self.down()
            self.project = Project.make(self.folder(), environment())
            add_hosts(self.project, *SPARE_HOSTS)
        return self.project

    def take(self) -> Project:
        """The lab with two machines in its pool and all of its hosts, every node ready and free, nothing of anybody's
        in the default namespace, and all well. AssertionError when it cannot be had."""
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
        """The lab in whatever state the last module left it, for the one that takes it down."""
        return self.project if self.project is not None and self.used else self.take()

    def down(self) -> None:
        """Leave nothing of it."""
        if self.project is not None and self.used:
            self.project.lab("down", "--all", check=False)
        self.project, self.used = None, False


def settle(project: Project) -> None:
    """Have what modules may leave as it was, and await that all is well; AssertionError when it does not become so."""
    # All but the API's own Service.
    project.kubectl("delete", "pods,services", "--selector=component!=apiserver", "--now", "--timeout=60s")
    set_desired_capacity(project, GROUP, MACHINES)
    eventually(lambda: _is_itself(project), limit_s=SETTLE_S)
    eventually(lambda: bool(project.status()["well"]), limit_s=SETTLE_S)


def _is_itself(project: Project) -> bool:
    """Whether exactly its machines and hosts are nodes, and each takes any pod."""
    machines = instances(project, GROUP)
    hosts = {f"{ENV}-{host.name}" for host in load(project.stack_file).hosts}
    return len(machines) == MACHINES and ready(project) == hosts.union(machines) and not _held(project)


def nodes(project: Project, *selectors: str) -> list[dict[str, Any]]:
    """Nodes as the API has them."""
    return list(json.loads(project.kubectl("get", "nodes", *selectors, "--output=json").stdout)["items"])


def ready(project: Project) -> set[str]:
    """Names of the nodes that are ready."""
    return {
        item["metadata"]["name"]
        for item in nodes(project)
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"]["conditions"])
    }


def _held(project: Project) -> bool:
    """Whether a node is there that does not take any pod, as one does that is cordoned."""
    return any(item["spec"].get("taints") or item["spec"].get("unschedulable") for item in nodes(project))
