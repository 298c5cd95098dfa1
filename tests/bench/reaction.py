"""Benchmark of the autoscaler's reaction at 1,000 nodes: from a pod to the cloud's call, from a gang of 1,600 GPUs to
its calls, and from a capacity error to the next pool's call. The API server is a real one; groups answer at once."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any
from unittest.mock import patch

from clouds.aws import live_groups as aws
from clouds.azure import live_groups as azure
from clouds.base.live_groups import GroupState, LiveMachine, WholeObservation
from clouds.base.place import Place
from clouds.base.refusals import Cause, Refusal
from components.model.prices.book import PriceBook
from contract.kubernetes.api import Api
from contract.kubernetes.paths import NODES, PODS
from contract.object_names import GANGS
from lab import tools
from services.autoscaler.decision_memory import DecisionMemoryStore
from services.autoscaler.leader_loop import ProcessSettings, serve
from tests.services.autoscaler.acting_cluster import GROUPS, HAS, REQUESTS, SPEC, environment
from tests.services.autoscaler.test_listed_cluster import REQUESTS as KIND
from tests.services.autoscaler.test_listed_cluster import TOOLS
from tests.support.api_server import ApiServer, api_server, eventually

COUNT = 1_000
TEAM = "team"
ROUNDS, ERRORS = 50, 6
BETWEEN_S = 0.5
"""Time between two pods, seconds."""
AFTER = timedelta(hours=3)
"""Time after which a pool that failed is asked again, whatever happened before."""
AT_ONCE = 8
CONTROLLERS = ("--node-monitor-grace-period=1h",)
"""The nodes have no kubelets: on a slow machine the controllers would find them silent before the end, and the
autoscaler would replace some of them."""
GPUS, MEMBERS = 8, 200
"""GPUs of a node, and number of members of the gang, each of which has all of them."""


@dataclass
class Standing(WholeObservation):
    """A group in memory."""

    ends_at_once = 1
    machines: tuple[LiveMachine, ...] = ()
    wanted: int = 0
    refuses: bool = False
    refused: tuple[Refusal, ...] = ()
    asked_at: list[float] = field(default_factory=list)

    def look(self) -> GroupState:
        """Return the group."""
        return GroupState(target="v1", wanted=self.wanted, machines=self.machines)

    def size(self) -> int:
        """Return its size."""
        return self.wanted

    def resize(self, count: int) -> None:
        """Note the time, and refuse what is asked if it is to be refused."""
        if count > self.wanted:
            self.asked_at.append(time.monotonic())
            if self.refuses:
                words = "InsufficientInstanceCapacity"
                self.refused = (Refusal(cause=Cause.CAPACITY, at=datetime.now(UTC) + Ahead.by, words=words),)
        self.wanted = count

    def made_at(self, _machines: Sequence[LiveMachine]) -> dict[str, str]:
        """Return nothing."""
        return {}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return what was refused."""
        return self.refused


class Ahead(Api):
    """An API whose clock goes forward between two rounds."""

    by = timedelta()

    def now(self) -> datetime:
        """Return the time."""
        return super().now() + Ahead.by


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=lambda _line: None)
    (folder / "cluster").mkdir()
    with api_server(folder / "cluster", tools=binaries, services=IPv4Network("10.80.0.0/17")) as server:
        server.start_controllers(*CONTROLLERS)
        server.open_namespace(TEAM)
        server.define(KIND)
        names = [f"i-{number:017x}" for number in range(COUNT)]
        _fill(server, names)
        machines = tuple(LiveMachine(id=name, node=name, current=True) for name in names)
        groups = {"h100": Standing(machines=machines, wanted=COUNT), "h100-azure": Standing()}
        with _serving(server, groups):
            yield from _figures("pod to the cloud's call", _pods(server, groups))
            yield from _gang(server, groups)
            yield from _figures("capacity error to the next pool's call", _errors(server, groups))


def _figures(name: str, taken: Sequence[float]) -> Iterator[tuple[str, float]]:
    yield f"{name}, {COUNT:,} nodes, p50 ms", statistics.median(taken) * 1000
    yield f"{name}, {COUNT:,} nodes, p99 ms", sorted(taken)[int(len(taken) * 0.99)] * 1000


@contextmanager
def _serving(server: ApiServer, groups: dict[str, Standing]) -> Iterator[None]:
    """Run the service, and return when it has begun to act."""

    def of_pool(_place: Place[Any], name: str) -> dict[str, Standing]:
        return {GROUPS[name]: groups[name]}

    given = server.client(timeout_s=30.0)
    api = Ahead(f"https://127.0.0.1:{server.port}", given._identity, timeout_s=30.0)
    stop, lines = threading.Event(), list[str]()
    with patch.object(aws, "live_groups", of_pool), patch.object(azure, "live_groups", of_pool):
        run = ProcessSettings(instance="bench")
        thread = threading.Thread(
            target=serve,
            args=(environment(most=2 * COUNT), api, PriceBook()),
            kwargs={"stop": stop, "run": run, "write": lines.append},
        )
        thread.start()
        try:
            _pod(given, "first")
            eventually(lambda: groups["h100"].asked_at, what="the first machine is asked for")
            yield
        finally:
            stop.set()
            thread.join()


def _pods(server: ApiServer, groups: dict[str, Standing]) -> list[float]:
    api, group = server.client(timeout_s=30.0), groups["h100"]
    taken = []
    for number in range(ROUNDS):
        before = len(group.asked_at)
        began = time.monotonic()
        _pod(api, f"one-{number}")
        eventually(lambda before=before: len(group.asked_at) > before, what="a machine is asked for")
        taken.append(group.asked_at[before] - began)
        time.sleep(BETWEEN_S)
    return taken


def _gang(server: ApiServer, groups: dict[str, Standing]) -> Iterator[tuple[str, float]]:
    """Ask for the room of a gang, and yield what its clouds were asked."""
    api = server.client(timeout_s=30.0)
    template = {"metadata": {"name": "member"}, "template": {"spec": SPEC}}
    api.post(f"/api/v1/namespaces/{TEAM}/podtemplates", {"apiVersion": "v1", "kind": "PodTemplate", **template})
    calls = {name: len(group.asked_at) for name, group in groups.items()}
    wanted = sum(group.wanted for group in groups.values())
    began = time.monotonic()
    sets = [{"podTemplateRef": {"name": "member"}, "count": MEMBERS}]
    body = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "metadata": {"name": "gang"}}
    api.post(REQUESTS, {**body, "spec": {"provisioningClassName": GANGS, "podSets": sets}})
    eventually(lambda: "it has room as soon as" in str(api.find(f"{REQUESTS}/gang")), what="the gang is told so")
    asked = {name: group.asked_at[calls[name] :] for name, group in groups.items()}
    name = f"gang of {MEMBERS * GPUS:,} GPUs"
    yield f"{name}, request to the first cloud's call ms", (min(filter(None, asked.values()))[0] - began) * 1000
    yield f"{name}, machines asked for", sum(group.wanted for group in groups.values()) - wanted
    yield f"{name}, groups asked", sum(bool(some) for some in asked.values())
    yield f"{name}, calls", sum(map(len, asked.values()))


def _errors(server: ApiServer, groups: dict[str, Standing]) -> list[float]:
    api = server.client(timeout_s=30.0)
    first, second = groups["h100"], groups["h100-azure"]
    taken = []
    for number in range(ERRORS):
        for pod in list(api.items(PODS)):
            if not pod["spec"].get("nodeName"):
                namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
                path = f"/api/v1/namespaces/{namespace}/pods/{name}"
                api.delete(path, uid=pod["metadata"]["uid"], grace_s=0)
        first.wanted, second.wanted, first.refused, first.refuses = COUNT, 0, (), True
        eventually(lambda: _owed(api) == {}, what="what was asked for is forgotten")
        Ahead.by += AFTER
        asked, next_ = len(first.asked_at), len(second.asked_at)
        _pod(api, f"refused-{number}")
        eventually(lambda next_=next_: len(second.asked_at) > next_, what="the next pool is asked")
        taken.append(second.asked_at[next_] - first.asked_at[asked])
    return taken


def _owed(api: Api) -> Mapping[str, datetime]:
    """Return the groups that are remembered to owe machines."""
    return DecisionMemoryStore(api).read().asked


def _fill(server: ApiServer, names: Sequence[str]) -> None:
    """Make nodes that are full."""
    local = threading.local()

    def one(name: str) -> None:
        api = local.api = getattr(local, "api", None) or server.client(timeout_s=30.0)
        labels = {"longhaul.dev/pool": "h100", "gpu": "h100", "kubernetes.io/hostname": name}
        api.post(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        condition = {"type": "Ready", "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": at}
        status = {"conditions": [{**condition, "lastHeartbeatTime": at}], "allocatable": HAS, "capacity": HAS}
        api.patch(f"{NODES}/{name}/status", {"status": status})
        api.patch(f"{NODES}/{name}", {"spec": {"taints": None}})
        _pod(api, f"on-{name}", nodeName=name)

    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        list(threads.map(one, names))


def _pod(api: Api, name: str, **more: Any) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**SPEC, **more}}
    api.post(f"/api/v1/namespaces/{TEAM}/pods", body)
