"""Pods in a crowd, and the work of scheduler and node controller that follows from what an autoscaler asks."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.paths import NODES
from contract.taints import CUT
from services.autoscaler.cluster_state import POD_GROUPS
from services.autoscaler.gang_objects import POD_GROUP
from tests.bench.seats import GPUS, Seats
from tests.bench.standing import PROCESSES, Told
from tests.services.autoscaler.acting_cluster import HAS
from tests.support.api_server import ApiServer

STANDING = "standing"
"""Namespace of the pods that stay."""
AT_ONCE = 8
"""Requests at once of the stand-ins, and of those who make pods."""
UNIT = (8, *[4] * 3, *[2] * 4, *[1] * 12)
"""GPUs of the pods of one unit, which fill five nodes."""
NODES_OF_UNIT = sum(UNIT) // GPUS
GANG = 50
"""Largest gang: the pods of eight GPUs are in gangs."""
CORES = 20
"""Pods ask for one core, for two, and so on up to this number: with the GPUs, that is their shapes."""
POD_GROUP_GROUP, VERSION = "scheduling.x-k8s.io", "v1alpha1"
KIND_NAME = f"podgroups.{POD_GROUP_GROUP}"
KIND = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": KIND_NAME,
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"},
    },
    "spec": {
        "group": POD_GROUP_GROUP,
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""Definition of PodGroups, without a schema."""


@dataclass
class Cluster:
    """The rest of the world: nodes for machines, and pods on nodes."""

    server: ApiServer
    team: str
    told: Any = field(default_factory=PROCESSES.Queue)
    waiting: Any = field(default_factory=PROCESSES.Queue)
    """Pods that are made and not bound, with their GPUs; nodes that have come, with none."""
    calls: list[Told] = field(default_factory=list)
    bound: int = 0
    there: set[str] = field(default_factory=set)
    """Nodes that there are."""
    wrong: list[str] = field(default_factory=list)
    """Machines that were ended while a pod was on them."""
    trouble: list[BaseException] = field(default_factory=list)
    """Errors of the stand-ins."""

    def __post_init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._seats = Seats()
        self._stays: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._stop = threading.Event()
        self._followers = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._place)]

    def begin(self, full: Iterable[str], empty: Iterable[str]) -> None:
        """Make nodes, those that stay full first; then follow what clouds are asked."""
        jobs = [self._do(self._full, name) for name in full] + [self._do(self._join, name) for name in empty]
        for job in jobs:
            job.result()
        self.check()
        for thread in self._followers:
            thread.start()

    def close(self) -> None:
        """End all work."""
        self._stop.set()
        for thread in self._followers:
            if thread.is_alive():
                thread.join()
        self._threads.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Raise what went wrong."""
        if self.trouble:
            raise self.trouble[0]
        if self.wrong:
            raise RuntimeError(f"ended with pods on them: {', '.join(self.wrong[:5])}, {len(self.wrong)} in all")

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
        return {pool: sorted(name for name in self.there if pool_of(name) == pool) for pool in pools}

    def runs(self) -> bool:
        """Return whether every pod runs."""
        return not self._api().get("/api/v1/pods", fieldSelector="status.phase!=Running", limit="1")["items"]

    def silent(self) -> int:
        """Return the number of nodes whose leases have run out."""
        nodes = self._api().items(NODES)
        return sum(any(taint["key"] in CUT for taint in node["spec"].get("taints", ())) for node in nodes)

    def delete_all(self) -> None:
        """Delete the team's pods; return when there is none."""
        path = f"/api/v1/namespaces/{self.team}/pods"
        while self._api().get(path, limit="1")["items"]:
            # The API server ends a request after a minute, done or not.
            self.server.kubectl("delete", "--raw", f"{path}?gracePeriodSeconds=0", check=False)
        with self._lock:
            self._seats.taken.clear()

    def stands(self, count: int) -> None:
        """Raise unless ``count`` pods stay, each on a node that is there, as the API server has them."""
        nodes = {one["metadata"]["name"] for one in self._api().items(NODES)}
        pods = [one["spec"]["nodeName"] for one in self._api().items(f"/api/v1/namespaces/{STANDING}/pods")]
        if len(pods) != count or not nodes.issuperset(pods):
            raise RuntimeError(
                f"of {count} pods that stay there are {len(pods)}, {len({*pods} - nodes)} without a node"
            )

    def _follow(self) -> None:
        for call in each(self.told, self._stop):
            with self._lock:
                self.wrong += [name for name in call.ended if self._stays[name] or self._seats.taken[name]]
            self.calls.append(call)
            for name in call.made:
                self._do(self._join, name)
            for name in call.ended:
                self._do(self._leave, name)

    def _place(self) -> None:
        for name, gpus in each(self.waiting, self._stop):
            with self._lock:
                placed = list(self._seats.pod(name, gpus) if gpus else self._seats.node(name))
            for pod, node in placed:
                self._do(self._bind, pod, node)

    def _do(self, work: Callable[..., None], *args: str) -> Future[None]:
        future = self._threads.submit(work, *args)
        future.add_done_callback(self._note)
        return future

    def _note(self, future: Future[None]) -> None:
        error = None if future.cancelled() else future.exception()
        if error:
            self.trouble.append(error)

    def _full(self, name: str) -> None:
        make_node(self._api(), name)
        make_pod(self._api(), STANDING, f"on-{name}", gpus=GPUS, nodeName=name)
        with self._lock:
            self.there.add(name)
            self._stays[name] += 1

    def _join(self, name: str) -> None:
        make_node(self._api(), name)
        with self._lock:
            self.there.add(name)
        self.waiting.put((name, 0))

    def _leave(self, name: str) -> None:
        self._api().send("DELETE", f"{NODES}/{name}")
        with self._lock:
            self.there.discard(name)

    def _bind(self, pod: str, node: str) -> None:
        target = {"kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self._api().post(f"/api/v1/namespaces/{self.team}/pods/{pod}/binding", body)
        with self._lock:
            self.bound += 1

    def _api(self) -> Api:
        return api_of(self._local, self.server)


def each(source: Any, stop: threading.Event) -> Iterator[Any]:
    """Yield what comes, until stopped."""
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


def pool_of(name: str) -> str:
    """Return the pool of a node."""
    return name.partition("-")[0]


def make_node(api: Api, name: str) -> None:
    """Make a node that kwok takes care of."""
    labels = {"longhaul.dev/pool": pool_of(name), "kubernetes.io/hostname": name}
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastTransitionTime": at}
    api.post(
        NODES,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"allocatable": HAS, "capacity": HAS, "conditions": [{**ready, "lastHeartbeatTime": at}]},
        },
    )


def make_pod(
    api: Api,
    namespace: str,
    name: str,
    *,
    gpus: int,
    cores: int = 1,
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """Make a pod that asks for GPUs and cores."""
    asks = {"nvidia.com/gpu": str(gpus), "cpu": str(cores)}
    resources = {"requests": asks, "limits": {"nvidia.com/gpu": str(gpus)}}
    spec = {
        "containers": [{"name": "main", "image": "example.com/none", "resources": resources}],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        **more,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec}
    api.post(f"/api/v1/namespaces/{namespace}/pods", body)


def gang_of(number: int) -> str:
    """Return the gang of a unit's pod of eight GPUs."""
    return f"gang-{number // len(UNIT) // GANG}"


def make_gangs(server: ApiServer, namespace: str, pods: int) -> None:
    """Make the PodGroups of that many pods."""
    api = server.client(timeout_s=60.0)
    path = POD_GROUPS.replace("/podgroups", f"/namespaces/{namespace}/podgroups")
    for name in sorted({gang_of(number) for number in range(0, pods, len(UNIT))}):
        api.post(path, {"apiVersion": f"{POD_GROUP_GROUP}/{VERSION}", "kind": "PodGroup", "metadata": {"name": name}})


def make_pods(server: ApiServer, namespace: str, count: int, waiting: Any) -> None:
    """Make pods in units, as fast as a few threads can; ``waiting`` takes their names."""
    local = threading.local()

    def one(number: int) -> None:
        name, gpus = f"p-{number}", UNIT[number % len(UNIT)]
        labels = {POD_GROUP: gang_of(number)} if gpus == GPUS else {}
        cores = 1 + number // len(UNIT) % CORES
        make_pod(api_of(local, server), namespace, name, gpus=gpus, cores=cores, labels=labels)
        waiting.put((name, gpus))

    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        list(threads.map(one, range(count)))


def in_a_process(work: Callable[..., None], *args: Any) -> Any:
    """Start work in a process of its own."""
    process = PROCESSES.Process(target=partial(work, *args))
    process.start()
    return process
