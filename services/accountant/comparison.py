"""Comparison of a team's pods with what the team's queue has admitted. Pure.

Every pod that runs, or that the scheduler may place, must be covered by a workload that Kueue has admitted: its own, or
that of the Job, the JobSet or another object of which it is a part. All pods of a workload together may use what Kueue
has counted for it, pods themselves included, so neither more pods nor larger pods than admitted are covered. Labels and
annotations prove nothing, because people write them.

Pods that are told to end occupy nodes although Kueue has freed their quota. They are excused, and so are pods that
Kubernetes' garbage collector is about to delete, up to what the team may use once (:class:`EndingLimits`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

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
    """Time at which its grace period is over, RFC 3339; empty unless it was told to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOwner:
    """A Job or a JobSet, as the owner of others."""

    uid: str
    parent: str
    """UID of the JobSet of which a Job is a part; empty if it is no part."""
    ends: bool
    """True while its dependents are deleted before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One of Kueue's workloads."""

    owners: tuple[str, ...]
    """UIDs of its owners: a Job, a JobSet, a StatefulSet, or pods."""
    usage: Resources
    """Amounts that Kueue counts for it, and the number of its pods, while it is admitted; otherwise empty."""
    finished: bool


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

    def is_ending(self, pod: RunningPod) -> bool:
        """Return whether a pod was told to end, or is deleted because its Job or JobSet is."""
        if pod.ends or not pod.job:
            return bool(pod.ends)
        job = self.jobs.get(pod.job)
        if job is None or job.ends or not job.parent:
            return job is None or job.ends
        jobset = self.jobsets.get(job.parent)
        return jobset is None or jobset.ends

    def admitted(self) -> Resources:
        """Return the sum of what is admitted."""
        return total(workload.usage for workload in self.workloads if not workload.finished)

    def ending(self) -> Resources:
        """Return the sum of what ending pods request."""
        return total(pod.requests for pod in self.pods if self.is_ending(pod))


@dataclass(frozen=True, slots=True)
class BeyondPod:
    """A pod that its team's queue has not admitted."""

    pod: RunningPod
    reason: BeyondReason


def compare(state: TeamState, *, limit: Resources) -> Iterator[BeyondPod]:
    """Yield the pods that are beyond the queue. Of the pods of one workload the oldest are covered first. ``limit`` is
    the largest sum of ending pods."""
    accounts = _Accounts(state)
    running: list[RunningPod] = []
    ending: list[RunningPod] = []
    for pod in state.pods:
        (ending if state.is_ending(pod) else running).append(pod)
    for pod in sorted(running, key=lambda pod: (pod.made, pod.uid)):
        reason = accounts.book(pod)
        if reason is not None:
            yield BeyondPod(pod, reason)
    left = dict(limit)
    for pod in sorted(ending, key=lambda pod: (pod.ends or "~", pod.uid)):
        if not _take(left, {name: amount for name, amount in pod.requests.items() if name in left}):
            yield BeyondPod(pod, BeyondReason.TOO_MANY_ENDING)


class _Accounts:
    """The rest of each workload's usage."""

    def __init__(self, state: TeamState) -> None:
        self._jobs = state.jobs
        self._left: dict[str, Resources] = {}
        self._finished: set[str] = set()
        for workload in state.workloads:
            if workload.finished:
                self._finished.update(workload.owners)
            elif workload.usage:
                # The pods of a group share one account.
                account = dict(workload.usage)
                self._left.update(dict.fromkeys(workload.owners, account))

    def book(self, pod: RunningPod) -> BeyondReason | None:
        """Take what a pod requests from its workload's account. Return the reason if that is not possible."""
        job = self._jobs.get(pod.job)
        owners = [uid for uid in (pod.uid, pod.controller, job.parent if job else "") if uid]
        account = next((self._left[uid] for uid in owners if uid in self._left), None)
        if account is None:
            is_finished = any(uid in self._finished for uid in owners)
            return BeyondReason.FINISHED if is_finished else BeyondReason.NOT_ADMITTED
        if not all(pod.requests.get(name) for name in COUNTED):
            return BeyondReason.UNCOUNTED
        return None if _take(account, pod.requests) else BeyondReason.MORE_THAN_ADMITTED


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
            self._peaks[team] = (now, state.ending(), {})
        began, current, before = self._peaks[team]
        if now - began >= PEAK_S:
            began, current, before = now, {}, current
        current = larger(current, admitted)
        self._peaks[team] = (began, current, before)
        return {
            name: amount for name, amount in larger(state.nominal, larger(current, before)).items() if name != "pods"
        }
