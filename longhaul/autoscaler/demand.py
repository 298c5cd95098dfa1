"""Demand: waiting pods that are alike, counted together, and the order in which they get room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC

from longhaul.autoscaler.rooms import COMMON, Ledger, Need
from longhaul.autoscaler.shapes import Shape
from longhaul.autoscaler.snapshot import Gang, Pod, Set


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Pods that are alike."""

    need: Need
    priority: int
    pods: tuple[str, ...]
    """Names, sorted."""
    declared: bool = False
    """True for a gang's members that are no pods yet."""

    @property
    def name(self) -> str:
        """Words for all of them."""
        return several(self.pods)

    @property
    def order(self) -> tuple[int, int, int, int, str]:
        """Return a key that sorts the higher priority and, of one priority, the larger pod first."""
        requests = dict(self.need.shape.requests)
        rare = sum(amount for name, amount in requests.items() if name not in COMMON)
        return (-self.priority, -rare, -requests.get("cpu", 0), -requests.get("memory", 0), self.pods[0])


@dataclass(frozen=True, kw_only=True)
class GangDemand:
    """All members of a gang that have no node yet."""

    gang: Gang
    priority: int
    members: tuple[Demand, ...]
    """The larger ones first."""

    @property
    def count(self) -> int:
        """Number of members."""
        return sum(len(one.pods) for one in self.members)

    @property
    def order(self) -> tuple[int, str, str]:
        """Return a key that sorts the higher priority and, of one priority, the older gang first."""
        created = self.gang.created
        return (-self.priority, created.astimezone(UTC).isoformat() if created else "", self.gang.name)


def several(names: tuple[str, ...]) -> str:
    """Return words for some pods."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def grouped(pods: Iterable[Pod], ledger: Ledger) -> list[Demand]:
    """Return pods by what they need and their priority, in the order in which they get room."""
    found: dict[tuple[int, int], list[str]] = {}
    needs: dict[int, Need] = {}
    # Pods share their shapes' objects, so these are compared by identity, and by value once for each object.
    same: dict[int, Need] = {}
    labelled = ledger.has_apart
    for pod in pods:
        if labelled:
            need = ledger.need(pod.shape, (pod.namespace, pod.labels))
        else:
            known = same.get(id(pod.shape))
            if known is None:
                known = same[id(pod.shape)] = ledger.need(pod.shape)
            need = known
        needs[id(need)] = need
        found.setdefault((id(need), pod.priority), []).append(pod.id)
    demands = [
        Demand(need=needs[id_], priority=priority, pods=tuple(sorted(names)))
        for (id_, priority), names in found.items()
    ]
    return sorted(demands, key=lambda one: one.order)


def gang_demands(gangs: Iterable[Gang], pods: Mapping[str, list[Pod]], ledger: Ledger) -> list[GangDemand]:
    """Return every gang of which members have no node. ``pods`` are those that wait, by the name of their gang."""
    known = {gang.name: gang for gang in gangs}
    found = []
    for name in known.keys() | pods.keys():
        gang, waiting = known.get(name, Gang(name=name)), pods.get(name, [])
        members = [*grouped(waiting, ledger), *_absent(gang, waiting, ledger)]
        if members:
            priority = max([gang.priority, *(pod.priority for pod in waiting)])
            found.append(
                GangDemand(gang=gang, priority=priority, members=tuple(sorted(members, key=lambda one: one.order)))
            )
    return sorted(found, key=lambda one: one.order)


def _absent(gang: Gang, waiting: Iterable[Pod], ledger: Ledger) -> list[Demand]:
    """Return the members that a request declares and that are no pods yet. A pod counts for the first set that asks
    for the same as it does; a member that runs, for the first set that is left."""
    left = [one.count for one in gang.sets]
    for pod in waiting:
        index = next((i for i, one in enumerate(gang.sets) if left[i] and _alike(one, pod.shape)), None)
        if index is not None:
            left[index] -= 1
    running = len(gang.on)
    demands = []
    for number, one in enumerate(gang.sets):
        runs = min(running, left[number])
        running -= runs
        count = left[number] - runs
        if count:
            names = tuple(f"{gang.name}[{number}][{index}]" for index in range(count))
            demands.append(Demand(need=ledger.need(one.shape), priority=gang.priority, pods=names, declared=True))
    return demands


def _alike(one: Set, shape: Shape) -> bool:
    return one.shape.requests == shape.requests


def shapes_of(pods: Iterable[Pod], gangs: Iterable[Gang]) -> list[Shape]:
    """Return every shape of waiting pods and of gangs' sets, each object once."""
    found = {id(pod.shape): pod.shape for pod in pods}
    found |= {id(one.shape): one.shape for gang in gangs for one in gang.sets}
    return list(found.values())
