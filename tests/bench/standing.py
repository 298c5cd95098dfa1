"""An autoscaler in a process of its own, with groups in memory, and the work of clouds, scheduler and node controller
that follows from what it asks."""

from __future__ import annotations

import multiprocessing
import queue
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

from clouds.aws import fleet as aws
from clouds.base.fleet import Group, Machine
from clouds.base.place import Place
from clouds.base.refusals import Refusal
from components.model import Environment
from longhaul.autoscaler.metrics import PREFIX, Metrics
from longhaul.autoscaler.service import Terms, serve
from longhaul.drain import NODES
from longhaul.kubernetes.api import Api
from longhaul.prices.book import PriceBook
from tests.longhaul.autoscaler.acting import HAS
from tests.support.api_server import ApiServer

AT_ONCE = 8
"""Requests of the stand-ins at once."""
PROCESSES = multiprocessing.get_context("fork")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A call to a cloud."""

    at: float
    """Time on the machine's monotonic clock, seconds."""
    made: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


class Standing:
    """A group in the autoscaler's memory, whose machines come and go at once."""

    ends_at_once = 1
    in_place = False

    def __init__(self, name: str, machines: Sequence[str], told: Any) -> None:
        self._name, self._told, self._number = name, told, len(machines)
        self._machines = tuple(Machine(id=one, node=one, current=True) for one in machines)

    def look(self) -> Group:
        """Return the group."""
        return Group(target="v1", wanted=len(self._machines), machines=self._machines)

    def size(self) -> int:
        """Return its size."""
        return len(self._machines)

    def resize(self, count: int) -> None:
        """Make what is missing. A lower size than there are machines is an error: a cloud would choose one."""
        missing = count - len(self._machines)
        if missing < 0:
            raise RuntimeError(f"{self._name}: a size of {count} with {len(self._machines)} machines")
        names = tuple(f"{self._name}-{self._number + index}" for index in range(missing))
        self._number += missing
        self._machines += tuple(Machine(id=one, node=one, current=True) for one in names)
        self._told.put(Told(at=time.monotonic(), made=names))

    def end(self, machines: Sequence[str]) -> None:
        """End machines, and lower the size by them."""
        self._machines = tuple(one for one in self._machines if one.id not in machines)
        self._told.put(Told(at=time.monotonic(), ended=tuple(machines)))

    def made_at(self, _machines: Sequence[Machine]) -> Mapping[str, str]:
        """Return nothing."""
        return {}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return nothing: it has everything."""
        return ()


class Ahead(Api):
    """An API whose clock is set forward by another process."""

    ahead_s: Any = None

    def now(self) -> datetime:
        """Return the time."""
        return super().now() + timedelta(seconds=self.ahead_s.value)


@dataclass
class Served:
    """Handle of the process of the autoscaler."""

    pid: int
    ahead_s: Any
    """Seconds by which its clock is ahead."""
    answers: Any
    ask: Any

    def metrics(self) -> dict[str, float]:
        """Return its metrics, and its peak memory as ``peak_mib``."""
        self.ask.put(None)
        lines = self.answers.get(timeout=60).splitlines()
        parts = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name.removeprefix(PREFIX): float(value) for name, _, value in parts}


@contextmanager
def serving(
    environment: Environment, server: ApiServer, machines: Mapping[str, Sequence[str]], told: Any
) -> Iterator[Served]:
    """Run the service in a process of its own over groups with these machines; ``told`` takes its calls. Return once it
    has made a pass."""
    ahead, ask, answers = PROCESSES.Value("d", 0.0), PROCESSES.Queue(), PROCESSES.Queue()
    process = PROCESSES.Process(target=_serve, args=(environment, server, machines, told, ahead, ask, answers))
    process.start()
    served = Served(pid=process.pid or 0, ahead_s=ahead, ask=ask, answers=answers)
    try:
        while served.metrics().get("passes_total", 0) < 1:
            time.sleep(0.1)
        yield served
    finally:
        process.terminate()
        process.join()


def _serve(
    environment: Environment,
    server: ApiServer,
    machines: Mapping[str, Sequence[str]],
    told: Any,
    ahead_s: Any,
    ask: Any,
    answers: Any,
) -> None:
    groups = {name: Standing(name, own, told) for name, own in machines.items()}

    def of_pool(_place: Place[Any], name: str) -> dict[str, Standing]:
        return {f"{environment.name}-{name}": groups[name]}

    api = Ahead(f"https://127.0.0.1:{server.port}", server.client(timeout_s=30.0)._identity, timeout_s=30.0)
    api.ahead_s = ahead_s
    metrics = Metrics()
    threading.Thread(target=_answer, args=(metrics, ask, answers), daemon=True).start()
    with patch.object(aws, "of_pool", of_pool):
        run, stop = Terms(instance="bench"), threading.Event()
        with (server.folder / "autoscaler.log").open("a", encoding="utf-8") as log:
            write = partial(print, file=log, flush=True)
            serve(environment, api, PriceBook(), stop=stop, run=run, write=write, metrics=metrics)


def _answer(metrics: Metrics, ask: Any, answers: Any) -> None:
    while True:
        ask.get()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answers.put(f"{metrics.text()}{PREFIX}peak_mib {peak}\n")


@dataclass
class Cluster:
    """The rest of the world: nodes for machines, and pods on nodes."""

    server: ApiServer
    team: str
    told: Any = field(default_factory=PROCESSES.Queue)
    waiting: Any = field(default_factory=PROCESSES.Queue)
    """Names of pods that are made and not bound."""
    calls: list[Told] = field(default_factory=list)
    bound: int = 0
    there: set[str] = field(default_factory=set)
    """Nodes that there are."""

    def __post_init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._free: queue.Queue[str] = queue.Queue()
        self._threads = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._stop = threading.Event()
        self._followers = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._bind_all)]

    def begin(self, nodes: Mapping[str, Sequence[str]]) -> None:
        """Make nodes, by pool, that are full; then follow what clouds are asked."""
        jobs = [self._threads.submit(self._full, pool, name) for pool, names in nodes.items() for name in names]
        for job in jobs:
            job.result()
        for thread in self._followers:
            thread.start()

    def close(self) -> None:
        """End all work."""
        self._stop.set()
        for thread in self._followers:
            if thread.is_alive():
                thread.join()
        self._threads.shutdown(cancel_futures=True)

    @property
    def asked(self) -> int:
        """Number of machines that were asked for."""
        return sum(len(call.made) for call in self.calls)

    @property
    def ended(self) -> int:
        """Number of machines that were ended."""
        return sum(len(call.ended) for call in self.calls)

    def by_pool(self, pools: Sequence[str]) -> dict[str, list[str]]:
        """Return the nodes that there are."""
        return {pool: [name for name in self.there if name.partition("-")[0] == pool] for pool in pools}

    def _follow(self) -> None:
        for call in _each(self.told, self._stop):
            self.calls.append(call)
            for name in call.made:
                self._threads.submit(self._join, name)
            for name in call.ended:
                self._threads.submit(self._leave, name)

    def _bind_all(self) -> None:
        for node in _each(self._free, self._stop):
            for pod in _each(self.waiting, self._stop):
                self._threads.submit(self._bind, pod, node)
                break

    def _full(self, pool: str, name: str) -> None:
        make_node(self._api(), name, pool)
        make_pod(self._api(), "standing", f"on-{name}", gpus=8, nodeName=name)
        self._came(name)

    def _join(self, name: str) -> None:
        make_node(self._api(), name, name.partition("-")[0])
        self._came(name)
        for _ in range(4):
            self._free.put(name)

    def _leave(self, name: str) -> None:
        self._api().send("DELETE", f"{NODES}/{name}")
        with self._lock:
            self.there.discard(name)

    def _came(self, name: str) -> None:
        with self._lock:
            self.there.add(name)

    def _bind(self, pod: str, node: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"kind": "Node", "name": node},
        }
        self._api().post(f"/api/v1/namespaces/{self.team}/pods/{pod}/binding", body)
        with self._lock:
            self.bound += 1

    def _api(self) -> Api:
        return api_of(self._local, self.server)


def _each(source: Any, stop: threading.Event) -> Iterator[Any]:
    while not stop.is_set():
        try:
            yield source.get(timeout=0.1)
        except queue.Empty:
            continue


def api_of(local: threading.local, server: ApiServer) -> Api:
    """Return the thread's own client."""
    found: Api | None = getattr(local, "api", None)
    if found is None:
        found = local.api = server.client(timeout_s=60.0)
    return found


def make_node(api: Api, name: str, pool: str) -> None:
    """Make a node that kwok takes care of."""
    labels = {"longhaul.dev/pool": pool, "kubernetes.io/hostname": name}
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    ready = {"type": "Ready", "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": at}
    api.post(
        NODES,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"allocatable": HAS, "capacity": HAS, "conditions": [{**ready, "lastHeartbeatTime": at}]},
        },
    )


def make_pod(api: Api, namespace: str, name: str, *, gpus: int, cores: int = 1, **more: Any) -> None:
    """Make a pod that asks for GPUs and cores."""
    asks = {"nvidia.com/gpu": str(gpus), "cpu": str(cores)}
    resources = {"requests": asks, "limits": {"nvidia.com/gpu": str(gpus)}}
    spec = {
        "containers": [{"name": "main", "image": "example.com/none", "resources": resources}],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        **more,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    api.post(f"/api/v1/namespaces/{namespace}/pods", body)


def make_pods(server: ApiServer, namespace: str, count: int, *, shapes: int, waiting: Any) -> None:
    """Make pods of two GPUs, as fast as a few threads can; ``waiting`` takes their names."""
    local = threading.local()

    def one(number: int) -> None:
        name = f"p-{number}"
        make_pod(api_of(local, server), namespace, name, gpus=2, cores=1 + number % shapes)
        waiting.put(name)

    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        list(threads.map(one, range(count)))


def in_a_process(work: Callable[..., None], *args: Any, **more: Any) -> Any:
    """Start work in a process of its own."""
    process = PROCESSES.Process(target=partial(work, *args, **more))
    process.start()
    return process
