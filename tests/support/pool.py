"""A pool in memory: the part of a cluster's API that a roll and a drain use, and a group of machines in a cloud. Both
change only when time passes, and time passes only when the tested code waits."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, Life, LiveMachine
from contract.kubernetes.connection import ApiError

BEGIN = datetime(2026, 11, 1, 12, tzinfo=UTC)
POOL = "longhaul.dev/pool"
ENDS_S = 2.0
"""Seconds until an evicted pod is gone."""


class FakeCluster:
    """Nodes, pods and leases, with the API's rules for versions, uids and evictions. Whatever no test needs is an
    error."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.nodes: dict[str, dict[str, Any]] = {}
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.leases: dict[str, dict[str, Any]] = {}
        self.budgets: set[tuple[str, str]] = set()
        """Pods that a disruption budget keeps from eviction."""
        self.evicted: list[str] = []
        self.down: ApiError | None = None
        self._number = itertools.count(1)
        self._ends: dict[tuple[str, str], float] = {}

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.seconds)

    def node(self, name: str, *, pool: str = "cpu", ready: bool = True, taints: tuple[str, ...] = ()) -> None:
        status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False", "message": "no network"}]}
        metadata = {"name": name, "labels": {POOL: pool}}
        spec = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
        self.nodes[name] = self._stamped({"metadata": metadata, "spec": spec, "status": status})

    def pod(self, name: str, node: str, *, namespace: str = "team", owner: str = "Job", **annotations: str) -> None:
        metadata = {
            "name": name,
            "namespace": namespace,
            "annotations": {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()},
            "ownerReferences": [{"kind": owner, "controller": True}] if owner else [],
        }
        item = {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running"}}
        self.pods[namespace, name] = self._stamped(item)

    def announce(self, name: str, at: datetime, *, namespace: str = "team") -> None:
        annotations = self.pods[namespace, name]["metadata"]["annotations"]
        annotations["longhaul.dev/checkpointed-at"] = at.isoformat()

    def finish(self, name: str, *, namespace: str = "team") -> None:
        self.pods[namespace, name]["status"]["phase"] = "Succeeded"

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        for key in [key for key, ends in self._ends.items() if ends <= self.seconds]:
            del self._ends[key]
            self.pods.pop(key, None)

    def get(self, path: str, **query: str) -> dict[str, Any]:
        return copy.deepcopy(self._held(path, **query))

    def _held(self, path: str, **query: str) -> dict[str, Any]:
        if self.down:
            raise self.down
        if path == "/api/v1/pods":
            node = query["fieldSelector"].removeprefix("spec.nodeName=")
            found = [pod for pod in self.pods.values() if pod["spec"]["nodeName"] == node]
            return {"items": found, "metadata": {"resourceVersion": "1"}}
        if path == "/api/v1/nodes":
            key, _, value = query["labelSelector"].partition("=")
            return {"items": [item for item in self.nodes.values() if item["metadata"]["labels"].get(key) == value]}
        kind, _, name = path.rpartition("/")
        found = {"/api/v1/nodes": self.nodes, LEASES: self.leases}[kind].get(name)
        if found is None:
            raise ApiError(f"{name} not found", status=404)
        return found

    def find(self, path: str) -> dict[str, Any] | None:
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        yield from self.get(path, **query)["items"]

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        found = self._held(path)
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != found["metadata"]["resourceVersion"]:
            raise ApiError("the object has been modified", status=409)
        _merge(found, body)
        return copy.deepcopy(self._stamped(found))

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if self.down:
            raise self.down
        if path == LEASES:
            self.leases[body["metadata"]["name"]] = self._stamped(copy.deepcopy(body))
            return self.get(f"{LEASES}/{body['metadata']['name']}")
        assert body["kind"] == "Eviction"
        assert path.endswith(f"/namespaces/{body['metadata']['namespace']}/pods/{body['metadata']['name']}/eviction")
        self._evict((body["metadata"]["namespace"], body["metadata"]["name"]), body["deleteOptions"])
        return {}

    def _evict(self, key: tuple[str, str], options: dict[str, Any]) -> None:
        pod = self.pods.get(key)
        if pod is None:
            raise ApiError("not found", status=404)
        if options["preconditions"]["uid"] != pod["metadata"]["uid"]:
            raise ApiError("the UID in the precondition does not match", status=409)
        if key in self.budgets:
            raise ApiError("Cannot evict pod as it would violate the pod's disruption budget.", status=429)
        pod["metadata"]["deletionTimestamp"] = self.now().isoformat()
        self._ends[key] = self.seconds + ENDS_S
        self.evicted.append(key[1])

    def delete(self, path: str, *, uid: str) -> None:
        name = path.rpartition("/")[2]
        if name in self.nodes and self.nodes[name]["metadata"]["uid"] == uid:
            del self.nodes[name]

    def _stamped(self, item: dict[str, Any]) -> dict[str, Any]:
        number = str(next(self._number))
        item["metadata"].setdefault("uid", f"uid-{number}")
        item["metadata"]["resourceVersion"] = number
        return item


LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


def _merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    """Apply a JSON merge patch."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


@dataclass(kw_only=True)
class FakeGroup:
    """A group whose machines take :attr:`takes_s` to be made, and then join: an auto scaling group, or, ``in_place``, a
    scale set."""

    cluster: FakeCluster
    in_place: bool = False
    target: str = "v2"
    wanted: int = 0
    takes_s: float = 30.0
    looks_apart_s: float = 0.0
    joins: bool = True
    """True when new machines become nodes."""
    machines: dict[str, LiveMachine] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    refuses: CloudError | None = None
    down: CloudError | None = None
    most_out: int = 0
    """Greatest number of wanted machines that were out of service at the same time."""
    _due: list[tuple[float, str]] = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=lambda: itertools.count(100))

    def old(self, *names: str) -> None:
        for name in names:
            self._put(name, current=False)

    def new(self, *names: str) -> None:
        for name in names:
            self._put(name, current=True)

    def _put(self, name: str, *, current: bool) -> None:
        self.machines[name] = LiveMachine(id=f"id-{name}", node=name, current=current)
        self.cluster.node(name)
        self.wanted += 1

    def look(self) -> GroupState:
        if self.down:
            raise self.down
        return GroupState(target=self.target, wanted=self.wanted, machines=tuple(self.machines.values()))

    def replace(self, machine: LiveMachine) -> None:
        self._called("replace", machine)
        if self.in_place:
            self.machines[machine.node] = replace(machine, current=True)
            return
        self.machines[machine.node] = replace(machine, life=Life.LEAVING)
        self._due.append((self.cluster.seconds + self.takes_s, machine.node))

    def rebuild(self, machine: LiveMachine) -> None:
        self._called("rebuild", machine)
        self.machines[machine.node] = replace(machine, life=Life.CHANGING)
        self._due.append((self.cluster.seconds + self.takes_s, machine.node))

    def remake(self, machine: LiveMachine) -> None:
        self.replace(machine)
        if self.in_place:
            self.rebuild(self.machines[machine.node])

    def wait(self, seconds: float) -> None:
        """Let time pass, and do what is due."""
        self.cluster.advance(seconds)
        for due, name in list(self._due):
            if due <= self.cluster.seconds:
                self._due.remove((due, name))
                self._made(name)
        if self.in_place and self.joins:
            for name, machine in self.machines.items():
                # The machine joins once its earlier Node is deleted.
                if machine.current and machine.life is Life.PRESENT and name not in self.cluster.nodes:
                    self.cluster.node(name)
        serving = [
            name
            for name, machine in self.machines.items()
            if machine.life is Life.PRESENT and _serves(self.cluster.nodes.get(name))
        ]
        self.most_out = max(self.most_out, self.wanted - len(serving))

    def _made(self, name: str) -> None:
        if self.in_place:
            self.machines[name] = replace(self.machines[name], life=Life.PRESENT)
            return
        del self.machines[name]
        self.cluster.nodes.pop(name, None)
        fresh = f"n{next(self._number)}"
        self.machines[fresh] = LiveMachine(id=f"id-{fresh}", node=fresh, current=True)
        if self.joins:
            self.cluster.node(fresh)

    def _called(self, what: str, machine: LiveMachine) -> None:
        self.calls.append(f"{what} {machine.node}")
        if self.refuses:
            raise self.refuses


def _serves(node: dict[str, Any] | None) -> bool:
    return node is not None and not node["metadata"].get("annotations", {}).get("longhaul.dev/roll-stage")
