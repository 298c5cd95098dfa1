"""An API server in memory: objects with versions, merge patches, evictions within budgets, and requests that fail."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from components.model.autoscaler.leases import ROLLS
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.readiness import is_ready
from services.autoscaler.cluster_state import BUDGETS
from services.autoscaler.node_load import budget_of
from services.autoscaler.scheduling_rules import is_fulfilled


class ProcessKilled(BaseException):
    """The process is killed."""


class ProcessLife:
    """Life of one process of the autoscaler: it may end at any request."""

    def __init__(self) -> None:
        self.left: int | None = None
        """Number of writes after which it is killed; None for never. The last one has its effect, and no answer."""
        self.dead = False

    def check(self) -> None:
        """Do nothing more in a process that was killed."""
        if self.dead:
            raise ProcessKilled

    def wrote(self) -> None:
        """Count a write."""
        if self.left is not None:
            self.left -= 1
            self.dead = self.left <= 0
        self.check()


def iso(at: datetime) -> str:
    """Return a time as the API writes it, in whole seconds."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


class MemoryServer:
    """The objects. They are replaced and never changed, so that whoever has read one has what it was."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.lock = threading.RLock()
        self.objects: dict[str, Object] = {}
        """Objects by path."""
        self._kinds: dict[str, dict[str, Object]] = {}
        self._versions, self._ids = itertools.count(1), itertools.count(1)
        self.failing: list[tuple[int, bool]] = []
        """Numbers of requests after which one fails, and whether it had its effect."""
        self.before_writes: list[Callable[[], None]] = []
        """Events between a decision and the writes of a pool that follow from it."""
        self.evicted: Callable[[Object], None] = lambda _pod: None
        """Called with each pod that is evicted."""

    def kind(self, path: str) -> list[Object]:
        """Return the objects of a collection, of all namespaces or of one."""
        with self.lock:
            if "/namespaces/" in path:
                head, _, rest = path.partition("/namespaces/")
                namespace, _, plural = rest.partition("/")
                every = self._kinds.get(f"{head}/{plural}", {}).values()
                return [item for item in every if item["metadata"].get("namespace") == namespace]
            return list(self._kinds.get(path, {}).values())

    def put(self, path: str, item: Object) -> Object:
        """Make or replace an object."""
        with self.lock:
            before = self.objects.get(path)
            metadata = {**item["metadata"], "resourceVersion": str(next(self._versions))}
            if before is None:
                metadata.setdefault("uid", f"uid-{next(self._ids)}")
                metadata.setdefault("creationTimestamp", iso(self.now()))
            else:
                metadata |= {key: before["metadata"][key] for key in ("uid", "creationTimestamp")}
            made = self.objects[path] = {**item, "metadata": metadata}
            self._kinds.setdefault(_collection(path), {})[path] = made
            return made

    def drop(self, path: str) -> None:
        """Remove an object."""
        with self.lock:
            self.objects.pop(path, None)
            self._kinds.get(_collection(path), {}).pop(path, None)

    def change(self, path: str, changes: Object) -> Object:
        """Merge changes into an object."""
        with self.lock:
            return self.put(path, merged(self.objects[path], changes))

    def patch(self, path: str, body: Object) -> Object:
        """Merge changes into an object, if it still has the version in them."""
        with self.lock:
            before = self.objects.get(path)
            if before is None:
                raise ApiError(f"{path} not found", status=404)
            version = (body.get("metadata") or {}).get("resourceVersion")
            if version and version != before["metadata"]["resourceVersion"]:
                raise ApiError("the object has been modified", status=409)
            return self.put(path, merged(before, body))

    def evict(self, path: str, body: Object) -> Object:
        """Evict a pod within budgets (kubernetes 1.36, ``pkg/registry/core/pod/storage/eviction.go``)."""
        pod = self.objects.get(path)
        if pod is None:
            raise ApiError(f"{path} not found", status=404)
        wanted = ((body.get("deleteOptions") or {}).get("preconditions") or {}).get("uid")
        if wanted and wanted != pod["metadata"]["uid"]:
            raise ApiError("the UID in the precondition is another", status=409)
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            budget
            for budget in filter(None, map(budget_of, self.kind(BUDGETS)))
            if budget.namespace == pod["metadata"]["namespace"]
            and all(is_fulfilled(requirement, labels) for requirement in budget.selector)
        ]
        if len(budgets) > 1:
            raise ApiError("This pod has more than one PodDisruptionBudget", status=500)
        if any(not budget.allows and (is_ready(pod) or not budget.allows_unready) for budget in budgets):
            raise ApiError("Cannot evict pod as it would violate the pod's disruption budget.", status=429)
        self.evicted(pod)
        return {}


class MemoryApi(Api):
    """A client of the server, in a process that may be killed."""

    def __init__(self, server: MemoryServer, life: ProcessLife) -> None:
        self._server, self._life = server, life

    def now(self) -> datetime:
        return self._server.now()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "",
        accept: str = "",
    ) -> Object:
        self._life.check()
        with self._server.lock:
            if ROLLS in path and self._server.before_writes:
                self._server.before_writes.pop()()
            fails = self._fails()
            if fails is False:
                raise ApiError("the server is overloaded", status=503)
            answer = self._answer(method, path, query or {}, body or {})
            if method != "GET":
                self._life.wrote()
            if fails:
                raise ApiError("no answer: the connection was reset", status=0)
            return answer

    def _fails(self) -> bool | None:
        """Return whether this request fails after its effect; false when it fails before, None when it does not."""
        failing, self._server.failing = self._server.failing, []
        due = None
        for left, late in failing:
            if left:
                self._server.failing.append((left - 1, late))
            else:
                due = late
        return due

    def _answer(self, method: str, path: str, query: Mapping[str, str], body: Object) -> Object:
        server = self._server
        match method:
            case "GET" if path in server.objects:
                return server.objects[path]
            case "GET" if query.get("limit"):
                node = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
                items = server.kind(path)
                return {"items": [item for item in items if not node or item["spec"].get("nodeName") == node]}
            case "POST" if path.endswith("/eviction"):
                return server.evict(path.removesuffix("/eviction"), body)
            case "POST" if path.endswith("/events"):
                return {}
            case "POST":
                place = path + path_of(body["metadata"]["name"])
                if place in server.objects:
                    raise ApiError("it exists already", status=409)
                return server.put(place, body)
            case "PUT":
                before = server.objects.get(path)
                version = body["metadata"].get("resourceVersion")
                if before is None or version != before["metadata"]["resourceVersion"]:
                    raise ApiError("the object has been modified", status=409)
                return server.put(path, body)
            case "PATCH":
                return server.patch(path.removesuffix("/status"), body)
        raise ApiError(f"{method} {path} not found", status=404)


def _collection(path: str) -> str:
    """Return the collection of an object in all namespaces."""
    head, _, rest = path.partition("/namespaces/")
    parts = rest.split("/")
    return f"{head}/{parts[1]}" if len(parts) == 3 else path.rpartition("/")[0]


def merged(before: Any, changes: Any) -> Any:
    """Return a merge patch's result (RFC 7386)."""
    if not isinstance(changes, Mapping):
        return changes
    result = dict(before) if isinstance(before, Mapping) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def owners(kind: str, name: str) -> list[Object]:
    """Return the references of an object to its controller."""
    return [{"apiVersion": "v1", "kind": kind, "name": name, "controller": True}]


def condition(kind: str, status: str, at: datetime) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "lastTransitionTime": iso(at)}


def tolerates(pod: Object, taints: Iterable[Object]) -> bool:
    """Return whether a pod tolerates all taints that keep pods away."""
    return all(
        any(
            toleration.get("key", taint["key"]) == taint["key"]
            and toleration.get("effect", taint["effect"]) == taint["effect"]
            for toleration in pod["spec"].get("tolerations") or ()
        )
        for taint in taints
        if taint["effect"] != "PreferNoSchedule"
    )
