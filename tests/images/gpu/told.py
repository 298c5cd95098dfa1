"""A Node at an API server and its machine, for tests of the node's reports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gpu.preflight_run import NoReportError

from contract.conditions import GPU_HEALTHY
from contract.documents.node import GpuPromise
from contract.taints import PREFLIGHT_TAINT
from lab.nvml.machine import StandInMachine, gpu
from tests.images.fake_api import FakeApi

NAME = "test-gpu-0"
PATH = f"/api/v1/nodes/{NAME}"
WELL = StandInMachine()
ILL = StandInMachine(gpus=(gpu(0), gpu(1, volatile_uncorrected=2)))
TAINTS = [{"key": PREFLIGHT_TAINT, "value": "pending", "effect": "NoSchedule"}]
TRIAL = GpuPromise(gpus=2, check=("true",))


class Server(FakeApi):
    """Stores what is written to the Node's status, as an API server does, and records the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.agent = "test"
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        self.objects[PATH] = {
            "metadata": {"name": NAME, "labels": {"a": "b"}},
            "spec": {"taints": list(TAINTS)},
            "status": {"conditions": [ready]},
        }
        self.objects["/api/v1/pods"] = {"items": []}
        self.asked: list[tuple[str, Any]] = []

    def _request(self, method: str, path: str, *, query: Any = None, body: Any = None, **more: Any) -> dict[str, Any]:
        self.asked.append((path, query))
        found = super()._request(method, path, query=query, body=body, **more)
        if path == f"{PATH}/status":
            assert (method, more["content_type"]) == ("PATCH", "application/strategic-merge-patch+json")
            node = self.node
            for part in ("labels", "annotations"):
                node["metadata"].setdefault(part, {}).update(body["metadata"][part])
            kept = {one["type"]: one for one in [*node["status"]["conditions"], *body["status"]["conditions"]]}
            node["status"]["conditions"] = list(kept.values())
        return found

    @property
    def node(self) -> dict[str, Any]:
        return self.objects[PATH]

    def condition(self, type_: str = GPU_HEALTHY) -> tuple[str, str]:
        [found] = [one for one in self.node["status"]["conditions"] if one["type"] == type_]
        return found["status"], found["reason"]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(one["type"], one["reason"]) for one in self.said("/events")]

    @property
    def writes(self) -> int:
        return len(self.said("/status"))


class Machines:
    """A node's machine, seen through the stand-in."""

    def __init__(self, preflight: Any) -> None:
        self._preflight = preflight
        self.machine = WELL
        self.checks: list[bool] = []
        self.breaks = ""

    def run(self, *, check: bool) -> dict[str, Any]:
        self.checks.append(check)
        if self.breaks:
            raise NoReportError(self.breaks)
        return asdict(self._preflight(self.machine))
