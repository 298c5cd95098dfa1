"""Demand: equal waiting pods, counted together, and the order in which they get room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from clouds.base.phrases import counted
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import Gang, PendingPod, PodSet
from services.autoscaler.free_capacity import PodNeed
from services.autoscaler.pod_shapes import COMMON, PodShape


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Pods with equal needs."""

    need: PodNeed
    priority: int
    pods: tuple[str, ...]
    """Names, sorted."""
    declared: bool = False
    """True for a gang's members that are not pods yet."""

    @property
    def name(self) -> str:
        """Return a text that names the first pods and the number of the others."""
        return names_text(self.pods)

    @property
    def order(self) -> tuple[int, int, int, int, str]:
        """Return a sort key: higher priority first; within a priority, larger pods first."""
        requests = dict(self.need.shape.requests)
        rare = sum(amount for name, amount in requests.items() if name not in COMMON)
        return (-self.priority, -rare, -requests.get("cpu", 0), -requests.get("memory", 0), self.pods[0])


@dataclass(frozen=True, kw_only=True)
class GangDemand:
    """All members of a gang that have no node yet."""

    gang: Gang
    priority: int
    members: tuple[Demand, ...]
    """Members in the order of :attr:`Demand.order`."""

    @property
    def count(self) -> int:
        """Return the number of members."""
        return sum(len(member.pods) for member in self.members)

    @property
    def order(self) -> tuple[int, str, str]:
        """Return a sort key: higher priority first; within a priority, older gangs first."""
        created = self.gang.created
        return (-self.priority, created.astimezone(UTC).isoformat() if created else "", self.gang.name)


def names_text(names: tuple[str, ...]) -> str:
    """Return text that names some pods."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def group_pods(pods: Iterable[PendingPod], ledger: CapacityLedger) -> list[Demand]:
    """Group pods by their needs and priority, in the order in which they get room."""
    by_need: dict[tuple[int, int], list[str]] = {}
    needs: dict[int, PodNeed] = {}
    # Pods share their shape objects, so these are compared by identity, and by value once for each object.
    same: dict[int, PodNeed] = {}
    labelled = ledger.needs.has_rules
    for pod in pods:
        if labelled:
            need = ledger.needs.of(pod.shape, (pod.namespace, pod.labels))
        else:
            known = same.get(id(pod.shape))
            if known is None:
                known = same[id(pod.shape)] = ledger.needs.of(pod.shape)
            need = known
        needs[id(need)] = need
        by_need.setdefault((id(need), pod.priority), []).append(pod.id)
    demands = [
        Demand(need=needs[id_], priority=priority, pods=tuple(sorted(names)))
        for (id_, priority), names in by_need.items()
    ]
    return sorted(demands, key=lambda demand: demand.order)


def gang_demands(
    gangs: Iterable[Gang], pods: Mapping[str, list[PendingPod]], ledger: CapacityLedger
) -> list[GangDemand]:
    """Return the demand of every gang with members that have no node. ``pods`` are the waiting pods by gang name."""
    known = {gang.name: gang for gang in gangs}
    demands = []
    for name in known.keys() | pods.keys():
        gang, waiting = known.get(name, Gang(name=name)), pods.get(name, [])
        there = len(waiting) + len(gang.on)
        if there < gang.least:
            few = f"{there} of at least {counted(gang.least, 'member')} exist"
            gang = replace(gang, unknown=(*gang.unknown, Obstacle(WaitReason.MEMBERS_MISSING, few)))
        members = [*group_pods(waiting, ledger), *_absent(gang, waiting, ledger)]
        if members:
            priority = max([gang.priority, *(pod.priority for pod in waiting)])
            demands.append(
                GangDemand(
                    gang=gang, priority=priority, members=tuple(sorted(members, key=lambda member: member.order))
                )
            )
    return sorted(demands, key=lambda demand: demand.order)


def _absent(gang: Gang, waiting: Iterable[PendingPod], ledger: CapacityLedger) -> list[Demand]:
    """Return the members that a request declares and that are not pods yet. Each pod, waiting or running, counts for
    the set that it fits best; a pod that fits no set counts for the first one that is not full."""
    left = [set_.count for set_ in gang.sets]
    requests = {set_.shape.requests for set_ in gang.sets}
    members = [*gang.runs, *(pod.shape for pod in waiting)] if gang.sets else []
    # Pods share their shape objects, as above.
    shapes, counts = {id(shape): shape for shape in members}, Counter(map(id, members))
    for shape in sorted(shapes.values(), key=lambda candidate: (candidate.requests not in requests, str(candidate))):
        _take(shape, counts[id(shape)], gang.sets, left)
    demands = []
    for number, (set_, count) in enumerate(zip(gang.sets, left, strict=True)):
        if count:
            names = tuple(f"{gang.name}[{number}][{index}]" for index in range(count))
            demands.append(
                Demand(
                    need=ledger.needs.of(set_.shape, set_.identity), priority=gang.priority, pods=names, declared=True
                )
            )
    return demands


def _take(shape: PodShape, count: int, sets: Sequence[PodSet], left: list[int]) -> None:
    """Count pods of one shape for the sets that they fit best. Queues add fields to pods that the sets lack, so among
    sets with equal requests the node selector decides."""
    selector = {*shape.where.selector}

    def fit(place: int) -> tuple[bool, int]:
        wanted, same = {*sets[place].shape.where.selector}, sets[place].shape.requests == shape.requests
        return same, len(wanted & selector) - len(wanted - selector)

    for place in sorted(range(len(sets)), key=fit, reverse=True):
        taken = min(count, left[place])
        left[place] -= taken
        count -= taken


def shapes_of(pods: Iterable[PendingPod], gangs: Iterable[Gang]) -> list[PodShape]:
    """Return the shapes of waiting pods and of gangs' sets. Each shape object appears once, even if several pods share
    it."""
    shapes = {id(pod.shape): pod.shape for pod in pods}
    shapes |= {id(set_.shape): set_.shape for gang in gangs for set_ in gang.sets}
    return list(shapes.values())
