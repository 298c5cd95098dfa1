"""Pods, jobs and queues of all teams: copies that watches keep up to date, or one team's as the API lists them now."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Generic, TypeVar

from contract.conditions import BEYOND_QUEUE
from contract.kubernetes.api import METADATA_LIST, Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NAMESPACES
from contract.kubernetes.watch import Watch, following
from contract.labels import TEAM_LABEL
from services.accountant.api_objects import job_owner, nominal_quota, running_pod, workload
from services.accountant.comparison import JobOwner, RunningPod, TeamState, Workload

log = logging.getLogger(__name__)

PODS, JOBS, JOBSETS, WORKLOADS, LOCAL_QUEUES = (
    ("/api/v1", "pods"),
    ("/apis/batch/v1", "jobs"),
    ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
    ("/apis/kueue.x-k8s.io/v1beta2", "workloads"),
    ("/apis/kueue.x-k8s.io/v1beta2", "localqueues"),
)
"""API and plural of each kind in teams' namespaces."""
CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"

Content = TypeVar("Content")


class TeamKind(Generic[Content]):
    """All objects of one kind, by namespace and name."""

    def __init__(
        self,
        api: Api,
        kind: tuple[str, str],
        parse: Callable[[Object], Content | None],
        *,
        touched: Callable[[str], None] = lambda _namespace: None,
        metadata_only: bool = False,
    ) -> None:
        """``touched`` is called with the namespace of each object that changes."""
        self._api, (self._group, self._plural), self._parse = api, kind, parse
        self._touched, self._metadata_only = touched, metadata_only
        self._lock = threading.Lock()
        self._contents: dict[str, dict[str, Content]] = {}
        path = f"{self._group}/{self._plural}"
        tell = partial(log.warning, "%s are not followed: %s", self._plural)
        self.watch = Watch(api, path, metadata_only=metadata_only, keep=self._keep, changed=self._change, tell=tell)

    def inside(self, namespace: str) -> list[Content]:
        """Return what is in a namespace, as last received."""
        with self._lock:
            return list(self._contents.get(namespace, {}).values())

    def listed(self, namespace: str) -> list[Content]:
        """Return what is in a namespace, as the API lists it now."""
        query = {"accept": METADATA_LIST} if self._metadata_only else {}
        items = self._api.items(f"{self._group}{path_of('namespaces', namespace, self._plural)}", **query)
        return [content for content in map(self._parse, items) if content is not None]

    def _keep(self, item: Object) -> Object | None:
        content = self._parse(item)
        if content is None:
            return None
        return {"namespace": item["metadata"]["namespace"], "name": item["metadata"]["name"], "content": content}

    def _change(self, before: Object | None, after: Object | None) -> None:
        changed = after or before
        if changed is None:
            return
        namespace, name = changed["namespace"], changed["name"]
        with self._lock:
            contents = self._contents.setdefault(namespace, {})
            if after is not None:
                contents[name] = after["content"]
            else:
                contents.pop(name, None)
        self._touched(namespace)


class WatchedTeams:
    """Everything of all teams that is compared."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._touched: set[str] = set()
        self._broken = threading.Event()
        self._pods: TeamKind[RunningPod] = TeamKind(api, PODS, running_pod, touched=self._touch)
        self._jobs: TeamKind[JobOwner] = TeamKind(api, JOBS, job_owner, touched=self._touch, metadata_only=True)
        self._jobsets: TeamKind[JobOwner] = TeamKind(api, JOBSETS, job_owner, touched=self._touch, metadata_only=True)
        self._workloads: TeamKind[Workload] = TeamKind(api, WORKLOADS, workload, touched=self._touch)
        self._queues: TeamKind[Object] = TeamKind(api, LOCAL_QUEUES, _queue, touched=self._touch)
        self._cluster_queues = Watch(api, CLUSTER_QUEUES, keep=_cluster_queue, changed=self._requote)
        self._namespaces = Watch(api, NAMESPACES, labels=TEAM_LABEL, keep=_namespace)

    def followed(self) -> AbstractContextManager[None]:
        """Watch everything during the block."""
        return following(self._api, [partial(self._follow, watch) for watch in self._watches()])

    def trouble(self) -> str:
        """Return the reason why a comparison is not possible now; empty if it is. Raise ``RuntimeError`` when a watch
        has ended for good: a restarted program is better than one that sees no changes."""
        if self._broken.is_set():
            raise RuntimeError("a watch has ended by an error of this program")
        for watch in self._watches():
            if watch.trouble:
                return f"{watch.path}: {watch.trouble}"
            if not watch.synced.is_set():
                return f"{watch.path}: not listed yet"
        return ""

    def namespaces(self) -> dict[str, Object]:
        """Return the namespaces of teams by name."""
        return self._namespaces.by_name()

    def queue(self, team: str) -> Object | None:
        """Return the queue in a namespace; None if it has none, and nothing is admitted there."""
        return next(iter(self._queues.inside(team)), None)

    def take_touched(self) -> set[str]:
        """Return the namespaces in which something has changed since the last call."""
        with self._lock:
            touched, self._touched = self._touched, set()
        return touched

    def state(self, team: str) -> TeamState:
        """Return a team's objects, as last received."""
        return self._state(team, listed=False)

    def listed_state(self, team: str) -> TeamState:
        """Return a team's objects, as the API lists them now. Workloads come last: what is admitted before its pods
        are listed is in the list."""
        return self._state(team, listed=True)

    def _state(self, team: str, *, listed: bool) -> TeamState:
        def read(kind: TeamKind[Content]) -> list[Content]:
            return kind.listed(team) if listed else kind.inside(team)

        queue = self.queue(team) or {}
        quota = self._cluster_queues.find(queue.get("clusterQueue", "")) or {}
        return TeamState(
            pods=read(self._pods),
            jobs={job.uid: job for job in read(self._jobs)},
            jobsets={jobset.uid: jobset for jobset in read(self._jobsets)},
            workloads=read(self._workloads),
            nominal=quota.get("nominal", {}),
        )

    def _watches(self) -> tuple[Watch, ...]:
        kinds = (self._pods, self._jobs, self._jobsets, self._workloads, self._queues)
        return (*(kind.watch for kind in kinds), self._cluster_queues, self._namespaces)

    def _follow(self, watch: Watch, stop: threading.Event) -> None:
        try:
            watch.run(stop)
        except Exception:
            log.exception("%s are not followed any more", watch.path)
            self._broken.set()

    def _touch(self, namespace: str) -> None:
        with self._lock:
            self._touched.add(namespace)

    def _requote(self, _before: Object | None, _after: Object | None) -> None:
        """Compare all teams again after a change of a quota."""
        with self._lock:
            self._touched.update(self._namespaces.by_name())


def _queue(item: Object) -> Object:
    metadata = {key: item["metadata"][key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": metadata,
        "clusterQueue": str((item.get("spec") or {}).get("clusterQueue") or ""),
    }


def _cluster_queue(item: Object) -> Object:
    return {"nominal": nominal_quota(item)}


def _namespace(item: Object) -> Object:
    metadata = {key: item["metadata"][key] for key in ("name", "uid", "labels")}
    conditions = (item.get("status") or {}).get("conditions") or ()
    reported = next((each for each in conditions if each["type"] == BEYOND_QUEUE), None)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "condition": reported}
