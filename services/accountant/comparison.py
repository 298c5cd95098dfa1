"""Comparison of a team's pods with what the team's queue has admitted. Pure.

Every pod that runs, or that the scheduler may place, must be covered by a workload that Kueue has admitted: its own, or
that of the Job, the JobSet or another object of which it is a part. All pods of a workload together may use what Kueue
has counted for it, pods themselves included, so neither more pods nor larger pods than admitted are covered. Labels and
annotations prove nothing, because people write them.

Pods that are told to end occupy nodes although Kueue has freed their quota. They are excused, and for a time so are
pods that somebody is about to tell (:class:`Ending`): together up to what the team may use once
(:class:`EndingLimits`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from contract.kubernetes.quantities import Resources
from contract.reasons.accountant import BeyondReason
from services.accountant.times import PEAK_S

COUNTED = ("cpu", "memory")
"""Resources of which every pod must request some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPod:
    """A pod without a scheduling gate that has not ended."""

    uid: str
    name: str
    controller: str
    """UID of the object that controls the pod; empty if none does."""
    job: str
    """The same UID if that object is a Job; otherwise empty."""
    requests: Resources
    """Requested amounts, and one of ``pods``."""
    made: str
    """Time at which it was made, RFC 3339."""
    ends: str
    """Time at which its grace period is over, RFC 3339; empty unless it was told to end within the time that a team's
    pods may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOwner:
    """A Job or a JobSet, as the owner of others."""

    uid: str
    name: str
    parent: str
    """UID of the JobSet of which a Job is a part; empty if it is no part."""
    ends: bool
    """True while its dependents are deleted before it."""
    is_pinned: bool
    """True if it is deleted, and stays without an end of its dependents: a finalizer keeps it, or they are orphaned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One of Kueue's workloads."""

    owners: tuple[str, ...]
    """UIDs of its owners: a Job, a JobSet, a StatefulSet, or pods."""
    usage: Resources
    """Amounts that Kueue counts for it, and the number of its pods, while it is admitted; otherwise empty."""
    finished: bool
    evicted: str = ""
    """Time at which Kueue has evicted it, RFC 3339; empty unless it is evicted. Its job may not run, although its quota
    is counted until its pods are told to end."""


class Ending(Enum):
    """Reason why a pod ends soon although nothing admitted covers it. Each excuse has an end."""

    TOLD = auto()
    """It was told to end, and its kubelet ends it in the time that it has, which is short."""
    COLLECTED = auto()
    """The garbage collector tells it: its Job or JobSet is gone, or waits for the end of what it owns."""
    FINISHED = auto()
    """Its job has finished, and the job's controller tells it."""


DUE: Mapping[Ending, BeyondReason] = {
    Ending.COLLECTED: BeyondReason.UNCOLLECTED,
    Ending.FINISHED: BeyondReason.FINISHED,
}
"""Differences that pods are until they are told to end. They count only if they last (services/accountant/times.py)."""


@dataclass(frozen=True, kw_only=True)
class TeamState:
    """Everything in a team's namespace that is compared."""

    pods: Collection[RunningPod]
    jobs: Mapping[str, JobOwner]
    """Jobs by UID."""
    jobsets: Mapping[str, JobOwner]
    """JobSets by UID."""
    workloads: Collection[Workload]
    nominal: Resources
    """Quota of the team's queue, without what it may borrow."""

    def ending(self, pod: RunningPod) -> Ending | None:
        """Return the reason why a pod ends soon; None if nothing ends it."""
        if pod.ends:
            return Ending.TOLD
        if pod.job:
            job = self.jobs.get(pod.job)
            owners = [job, self.jobsets.get(job.parent)] if job and job.parent else [job]
            if any(owner is None or owner.ends for owner in owners):
                return Ending.COLLECTED
            if any(owner is not None and owner.is_pinned for owner in owners):
                return None
        states = [self._finished[uid] for uid in self.owners(pod) if uid in self._finished]
        return Ending.FINISHED if states and all(states) else None

    def owners(self, pod: RunningPod) -> list[str]:
        """Return the UIDs of everything that may have a workload for a pod, the pod first."""
        job = self.jobs.get(pod.job)
        return [uid for uid in (pod.uid, pod.controller, job.parent if job else "") if uid]

    def admitted(self) -> Resources:
        """Return the sum of what is admitted."""
        return total(workload.usage for workload in self.workloads if not workload.finished)

    def in_use_by_ending(self) -> Resources:
        """Return the sum of what ending pods request."""
        return total(pod.requests for pod in self.pods if self.ending(pod))

    @cached_property
    def _finished(self) -> Mapping[str, bool]:
        """Owners by UID: true if nothing is admitted for them any more. Those that only wait are left out."""
        finished: dict[str, bool] = {}
        for workload in self.workloads:
            if workload.finished or workload.usage:
                for uid in workload.owners:
                    finished[uid] = workload.finished and finished.get(uid, True)
        return finished


@dataclass(frozen=True, slots=True)
class BeyondPod:
    """A pod that its team's queue has not admitted."""

    pod: RunningPod
    reason: BeyondReason
    is_evicted: bool = False
    """True if Kueue has evicted its job."""


def compare(state: TeamState, *, limit: Resources, evicted_until: str = "") -> Iterator[BeyondPod]:
    """Yield the pods that are beyond the queue. Of the pods of one workload the oldest are covered first. ``limit`` is
    the largest sum of ending pods. Workloads that were evicted at ``evicted_until`` (RFC 3339) or before cover none."""
    accounts = _Accounts(state, evicted_until)
    endings = [(pod, state.ending(pod)) for pod in state.pods]
    running = [pod for pod, ending in endings if ending is None]
    for pod in sorted(running, key=lambda pod: (pod.made, pod.uid)):
        reason = accounts.book(pod)
        if reason is not None:
            yield BeyondPod(pod, reason, is_evicted=accounts.is_evicted(pod))
    left = dict(limit)
    for pod, ending in sorted(endings, key=lambda item: (item[0].ends or "~", item[0].uid)):
        if ending is None:
            continue
        if not _take(left, {name: amount for name, amount in pod.requests.items() if name in left}):
            yield BeyondPod(pod, BeyondReason.TOO_MANY_ENDING)
        elif ending in DUE:
            yield BeyondPod(pod, DUE[ending])


class _Accounts:
    """The rest of each workload's usage."""

    def __init__(self, state: TeamState, evicted_until: str) -> None:
        self._owners = state.owners
        self._left: dict[str, Resources] = {}
        for workload in state.workloads:
            if workload.usage and not workload.finished:
                # The pods of a group share one account.
                account = dict(workload.usage)
                self._left.update(dict.fromkeys(workload.owners, account))
        evicted = [workload for workload in state.workloads if workload.evicted and not workload.finished]
        self._evicted = {uid for workload in evicted for uid in workload.owners}
        overdue = [workload for workload in evicted if workload.evicted <= evicted_until]
        self._overdue = {uid for workload in overdue for uid in workload.owners}

    def is_evicted(self, pod: RunningPod) -> bool:
        """Return whether a pod's job is evicted."""
        return any(uid in self._evicted for uid in self._owners(pod))

    def book(self, pod: RunningPod) -> BeyondReason | None:
        """Take what a pod requests from its workload's account. Return the reason if that is not possible."""
        account = next((self._left[uid] for uid in self._owners(pod) if uid in self._left), None)
        if account is None:
            return BeyondReason.NOT_ADMITTED
        if not all(pod.requests.get(name) for name in COUNTED):
            return BeyondReason.UNCOUNTED
        if not _take(account, pod.requests):
            return BeyondReason.MORE_THAN_ADMITTED
        return BeyondReason.EVICTED if any(uid in self._overdue for uid in self._owners(pod)) else None


def _take(left: Resources, amounts: Resources) -> bool:
    """Take amounts from what is left. Return false, and take nothing, if there is too little of any."""
    if any(amount > left.get(name, 0) for name, amount in amounts.items()):
        return False
    for name, amount in amounts.items():
        left[name] = left.get(name, 0) - amount
    return True


def total(every: Iterable[Resources]) -> Resources:
    """Return the sum of resources."""
    result: Resources = {}
    for resources in every:
        for name, amount in resources.items():
            result[name] = result.get(name, 0) + amount
    return result


def larger(first: Resources, other: Resources) -> Resources:
    """Return the larger amount of each resource."""
    return {name: max(first.get(name, 0), other.get(name, 0)) for name in {*first, *other}}


class EndingLimits:
    """Largest sum of a team's ending pods: once more what the team is guaranteed or, if that is more, the most that was
    admitted at one time within the last :data:`PEAK_S` to twice that. Without a limit, a team that deletes every
    admitted pod at once would fill the cluster with pods that end slowly."""

    def __init__(self) -> None:
        self._peaks: dict[str, tuple[float, Resources, Resources]] = {}
        """By team: when the current period began, its peak, and the peak of the period before."""

    def limit(self, team: str, state: TeamState, *, now: float) -> Resources:
        """Return the limit. What ends at the first look was admitted before this process led."""
        admitted = state.admitted()
        if team not in self._peaks:
            self._peaks[team] = (now, state.in_use_by_ending(), {})
        began, current, before = self._peaks[team]
        if now - began >= PEAK_S:
            began, current, before = now, {}, current
        current = larger(current, admitted)
        self._peaks[team] = (began, current, before)
        return {
            name: amount for name, amount in larger(state.nominal, larger(current, before)).items() if name != "pods"
        }
