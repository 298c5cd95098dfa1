"""The leader's work: looks at all teams, tells what is beyond their queues, and closes namespaces to new pods."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta

from contract.conditions import BEYOND_QUEUE
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.events import MESSAGE, Events
from contract.kubernetes.paths import NAMESPACES
from contract.kubernetes.quantities import Resources
from contract.labels import HELD_LABEL
from contract.object_names import ACCOUNTANT_LEASE
from contract.reasons.accountant import BeyondReason
from services.accountant.comparison import BeyondPod, EndingLimits, TeamState, compare
from services.accountant.job_endings import end_evicted_jobs
from services.accountant.metrics import JOBS_ENDED, LOOK_SECONDS, LOOKS, LOOKS_FAILED, PODS_BEYOND_QUEUE, TEAM_HELD
from services.accountant.times import CONFIRM_S, ENDING_S, EVICTED_S, LOOK_S
from services.accountant.watched_teams import WatchedTeams
from services.metrics import ServiceMetrics

log = logging.getLogger(__name__)

NAMED = 10
"""Largest number of pods of one reason that a message names."""
POD_EVENTS = 5
"""Largest number of pods that get an Event when their namespace is closed."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Form of a time in the API."""
WITHIN = "WithinQueue"
"""Reason of the condition and of the Event when everything is within the queue."""


class LastingDifferences:
    """Pods that are beyond their queue in several looks."""

    def __init__(self) -> None:
        self._since: dict[str, dict[str, float]] = {}

    def lasting(self, team: str, differences: Iterable[BeyondPod], *, now: float) -> list[BeyondPod]:
        """Record a look at a team. Return the pods that have been beyond the queue in every look for long enough."""
        before = self._since.get(team, {})
        self._since[team] = {}
        lasting = []
        for beyond in differences:
            since = self._since[team][beyond.pod.uid] = before.get(beyond.pod.uid, now)
            if now - since >= ENDING_S.get(beyond.reason, CONFIRM_S):
                lasting.append(beyond)
        return lasting

    def any(self, team: str) -> bool:
        """Return whether the last look found a difference."""
        return bool(self._since.get(team))

    def forget(self, team: str) -> None:
        """Begin anew with a team."""
        self._since.pop(team, None)

    def forget_all(self) -> None:
        """Begin anew with all teams."""
        self._since.clear()


class Accountant:
    """Looks at all teams while this process leads."""

    def __init__(
        self,
        api: Api,
        teams: WatchedTeams,
        *,
        instance: str,
        metrics: ServiceMetrics,
        leads: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._teams, self._metrics, self._leads, self._clock = api, teams, metrics, leads, clock
        self._events = Events(api, instance=instance, component=ACCOUNTANT_LEASE)
        self._differences = LastingDifferences()
        self._limits = EndingLimits()
        self._clear_since: dict[str, float] = {}
        self._unread: set[str] = set()
        self._ended: set[str] = set()
        """Jobs that this process has suspended, by UID."""
        self._evicting: set[str] = set()
        """Teams in which an evicted job still has its quota: the time that it has to end passes without a change."""
        self._trouble = ""

    def run(self, stop: threading.Event) -> None:
        """Look repeatedly until stopped, or until another process leads."""
        with self._teams.followed():
            while self._leads() and not stop.wait(LOOK_S):
                self.look()

    def look(self) -> None:
        """Compare all teams in which something has changed. If anything cannot be read, change nothing."""
        began = self._clock()
        trouble = self._teams.trouble()
        if trouble != self._trouble:
            log.warning("nothing is compared: %s", trouble) if trouble else log.info("comparing")
        self._trouble = trouble
        if trouble:
            self._differences.forget_all()
            self._metrics.count(LOOKS_FAILED)
            return
        touched = self._teams.take_touched() | self._unread | self._evicting
        namespaces = self._teams.namespaces()
        self._unread = set()
        for name, namespace in namespaces.items():
            try:
                if name in touched or self._differences.any(name) or _is_marked(namespace):
                    self._look_at(name, namespace)
            except ApiError as error:
                log.warning("%s: %s; trying again", name, error)
                self._unread.add(name)
        self._metrics.replace(TEAM_HELD, {(name,): float(_is_closed(item)) for name, item in namespaces.items()})
        if self._unread:
            self._metrics.count(LOOKS_FAILED)
        else:
            self._metrics.count(LOOKS)
        self._metrics.count(LOOK_SECONDS, self._clock() - began)

    def _look_at(self, team: str, namespace: Object) -> None:
        now = self._clock()
        queue, limit = self._teams.queue(team), {}
        differences: list[BeyondPod] = []
        if queue is not None:
            state = self._teams.state(team)
            limit = self._limits.limit(team, state, now=now)
            differences = self._compare(state, limit=limit)
            (self._evicting.add if _has_evicted(state) else self._evicting.discard)(team)
        lasting = self._differences.lasting(team, differences, now=now)
        listed = None
        if lasting and (not _is_closed(namespace) or any(beyond.is_evicted for beyond in lasting)):
            # Watches may lag behind, so the API itself has the last word before anybody is refused anything.
            listed = self._teams.listed_state(team)
            uids = {beyond.pod.uid for beyond in self._compare(listed, limit=limit)}
            lasting = [beyond for beyond in lasting if beyond.pod.uid in uids]
            if not lasting:
                log.info("%s: differences were only in this program's copy", team)
                self._differences.forget(team)
        self._count(team, lasting)
        if lasting:
            self._clear_since.pop(team, None)
            self._close(namespace, queue or {}, lasting)
            if listed is not None:
                self._end(team, listed, lasting)
        elif differences:
            self._clear_since.pop(team, None)
        elif _is_marked(namespace) and now - self._clear_since.setdefault(team, now) >= CONFIRM_S:
            self._open(namespace, queue)

    def _compare(self, state: TeamState, *, limit: Resources) -> list[BeyondPod]:
        until = self._api.now() - timedelta(seconds=EVICTED_S)
        return list(compare(state, limit=limit, evicted_until=until.strftime(TIME)))

    def _end(self, team: str, state: TeamState, lasting: Collection[BeyondPod]) -> None:
        """End jobs that Kueue has evicted and that run on."""
        if not self._leads():
            return
        for job in end_evicted_jobs(self._api, team, state, lasting):
            if job.uid in self._ended:
                continue
            self._ended.add(job.uid)
            self._metrics.count(JOBS_ENDED, team=team)
            about = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": job.name, "namespace": team, "uid": job.uid},
            }
            text = "Kueue has evicted this job, and its pods ran on: it is suspended now"
            self._events.say(about, reason="EvictedJobSuspended", message=text, warning=True)

    def _close(self, namespace: Object, queue: Object, lasting: Collection[BeyondPod]) -> None:
        """Close a namespace to new pods, unless it is closed, and tell which pods are beyond the queue."""
        team, message = namespace["metadata"]["name"], message_of(lasting)
        is_new = not _is_closed(namespace)
        if is_new:
            self._label(team, "true")
        reason = Counter(beyond.reason for beyond in lasting).most_common(1)[0][0]
        self._set_condition(namespace, status="True", reason=reason, message=message)
        if not is_new:
            return
        for about in (namespace, queue):
            self._events.say(about, reason="PodsBeyondQueue", message=message, warning=True)
        for beyond in list(lasting)[:POD_EVENTS]:
            metadata = {"name": beyond.pod.name, "namespace": team, "uid": beyond.pod.uid}
            about = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
            text = f"the team's queue has not admitted this pod ({beyond.reason}): delete it"
            self._events.say(about, reason="BeyondQueue", message=text, warning=True)

    def _open(self, namespace: Object, queue: Object | None) -> None:
        """Open a namespace to new pods again."""
        message = "every pod is within what the queue has admitted: new pods are taken again"
        self._label(namespace["metadata"]["name"], None)
        self._set_condition(namespace, status="False", reason=WITHIN, message=message)
        self._clear_since.pop(namespace["metadata"]["name"], None)
        for about in (namespace, queue) if queue else (namespace,):
            self._events.say(about, reason=WITHIN, message=message)

    def _label(self, team: str, value: str | None) -> None:
        self._write(path_of(team), {"metadata": {"labels": {HELD_LABEL: value}}})

    def _set_condition(self, namespace: Object, *, status: str, reason: str, message: str) -> None:
        before = namespace["condition"] or {}
        if (before.get("status"), before.get("reason"), before.get("message")) == (status, reason, message):
            return
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        condition = {
            "type": BEYOND_QUEUE,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since or self._api.now().strftime(TIME),
        }
        log.info("%s: %s", namespace["metadata"]["name"], message)
        path = path_of(namespace["metadata"]["name"], "status")
        self._write(path, {"status": {"conditions": [condition]}})

    def _write(self, path: str, body: Object) -> None:
        if not self._leads():
            raise ApiError("this process leads no more")
        self._api.patch(NAMESPACES + path, body, strategic=True)

    def _count(self, team: str, lasting: Iterable[BeyondPod]) -> None:
        counts: Mapping[BeyondReason, int] = Counter(beyond.reason for beyond in lasting)
        for reason in BeyondReason:
            self._metrics.set(PODS_BEYOND_QUEUE, counts.get(reason, 0), team=team, reason=reason)


def message_of(lasting: Collection[BeyondPod]) -> str:
    """Return the message about pods beyond their queue: how many, which, and why."""
    names: dict[BeyondReason, list[str]] = {}
    for beyond in lasting:
        names.setdefault(beyond.reason, []).append(beyond.pod.name)
    parts = []
    for reason, pods in sorted(names.items()):
        others = f" and {len(pods) - NAMED} others" if len(pods) > NAMED else ""
        parts.append(f"{', '.join(sorted(pods)[:NAMED])}{others} ({reason})")
    text = f"the queue has not admitted {len(lasting)} pods; no new ones until they are deleted: {'; '.join(parts)}"
    return text[:MESSAGE]


def _has_evicted(state: TeamState) -> bool:
    """Return whether an evicted workload still has its quota."""
    return any(workload.evicted and workload.usage for workload in state.workloads if not workload.finished)


def _is_closed(namespace: Object) -> bool:
    return HELD_LABEL in namespace["metadata"]["labels"]


def _is_marked(namespace: Object) -> bool:
    """Return whether a namespace has the label, or a condition that outlasts a label which somebody removed."""
    return _is_closed(namespace) or (namespace["condition"] or {}).get("status") == "True"
