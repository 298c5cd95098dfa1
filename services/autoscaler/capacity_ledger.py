"""All free capacity of a cluster: the nodes on which pods fit, and the amounts that pods take.

A journal records every change, so that a gang that does not fit completely can be undone without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from services.autoscaler.cluster_snapshot import ClusterNode
from services.autoscaler.free_capacity import (
    EquivalentNodes,
    NodeRoom,
    NodeRow,
    PodNeed,
    Tier,
    most_of_each,
)
from services.autoscaler.host_spreading import HostSpreading
from services.autoscaler.pod_needs import PodNeeds
from services.autoscaler.pod_shapes import (
    AntiAffinity,
    NodeConstraints,
    NodeKind,
    PodShape,
)
from services.autoscaler.scheduling_rules import mismatch
from services.autoscaler.volume_counts import VolumeId
from services.autoscaler.volume_ledger import VolumeLedger


class CapacityLedger:
    """All room of a cluster, on existing nodes and on nodes that are to be made."""

    def __init__(
        self,
        shapes: Iterable[PodShape],
        *,
        apart: Iterable[AntiAffinity] = (),
        closed: Mapping[AntiAffinity, Iterable[str]] | None = None,
        keys: Iterable[str] = (),
    ) -> None:
        """``shapes`` are all shapes that will be placed. ``apart`` are the running pods' anti-affinities by host.
        ``closed`` are their other anti-affinities, each with the values of its label on the nodes where these pods run.
        ``keys`` are further labels that distinguish classes of nodes."""
        distinct = tuple(dict.fromkeys(shapes))
        wide = closed or {}
        self.needs = PodNeeds(distinct, apart=apart, closed=wide)
        wheres = {shape.where for shape in distinct}
        self._keys = sorted({*keys, *(term.key for term in wide), *(key for where in wheres for key in where.labels)})
        counted = self.needs.counted
        self._spreading = HostSpreading(counted, self.needs.matches) if counted else None
        self._volumes = VolumeLedger()
        self._hosts: dict[str, NodeRoom] = {}
        """The first node of each host."""
        self._classes: dict[object, EquivalentNodes] = {}
        self._by_kind: dict[tuple[int, Tier], tuple[NodeKind, EquivalentNodes]] = {}
        """Classes by the ``id`` of a kind, whose object equal nodes share, and by tier. The kind is stored so that its
        ``id`` stays in use."""
        self._fitting: dict[NodeConstraints, tuple[EquivalentNodes, ...]] = {}
        self._selected: dict[
            tuple[NodeConstraints, Sequence[Tier], tuple[str, str] | None, frozenset[tuple[str, str]]],
            tuple[EquivalentNodes, ...],
        ] = {}
        self._journal: list[Callable[[], None]] = []

    def class_of(self, kind: NodeKind, tier: Tier) -> EquivalentNodes:
        """Return the class of nodes of a kind."""
        known = self._by_kind.get((id(kind), tier))
        if known is None:
            labels = dict(kind.labels)
            key = (tier, tuple(map(labels.get, self._keys)), kind.taints, kind.variants)
            class_ = self._classes.get(key)
            if class_ is None:
                class_ = self._classes[key] = EquivalentNodes(kind, tier)
                self._fitting.clear()
                self._selected.clear()
            known = self._by_kind[id(kind), tier] = (kind, class_)
        return known[1]

    def add_all(self, rooms: Iterable[NodeRoom]) -> None:
        """Add nodes permanently, the fullest first, so that they are filled before emptier nodes."""
        classes: dict[EquivalentNodes, list[NodeRoom]] = {}
        for room in sorted(rooms, key=lambda candidate: (candidate.free, candidate.name)):
            self._note_pods(room)
            classes.setdefault(self.class_of(room.kind, room.tier), []).append(room)
        for class_, members in classes.items():
            class_.add_all(members)

    def add(self, room: NodeRoom) -> None:
        """Add one node permanently."""
        self._note_pods(room)
        self.class_of(room.kind, room.tier).add(room)

    def _note_pods(self, room: NodeRoom) -> None:
        """Record the anti-affinities and spreadings that the pods on a node have or match."""
        if room.node and self.needs.has_rules:
            room.owns |= self.needs.owns(room.node.apart)
            for identity in room.node.identities:
                room.matches |= self.needs.matches(*identity)
            self._join_host(room)
        if self._spreading:
            self._spreading.add(room)

    def _join_host(self, room: NodeRoom) -> None:
        """Join the nodes whose label names the same host: for each of them, the pods of all count. Without that label,
        no pod is kept off by others (kubernetes 1.36, ``interpodaffinity``, ``satisfyPodAntiAffinity``)."""
        host = room.host
        if host is None:
            room.owns = room.matches = 0
            return
        first = room if room.tier is Tier.ENDING else self._hosts.setdefault(host, room)
        if first is not room:
            room.mates = (first, *first.mates)
            for mate in room.mates:
                mate.mates = (*mate.mates, room)
                mate.owns |= room.owns
                mate.matches |= room.matches
            room.owns, room.matches = first.owns, first.matches

    def add_outside(self, node: ClusterNode) -> None:
        """Add a node that takes no pods, because it is cordoned or does not answer. Such a node counts only for
        spreadings."""
        if self.needs.has_rules:
            self._note_pods(NodeRoom(node.name, node.kind, Tier.BUSY, [], node))

    def add_new(self, room: NodeRoom) -> None:
        """Add a node that is to be made. :meth:`undo_to` removes it again."""
        self.add(room)
        self._journal.append(partial(self._forget, room))

    def _forget(self, room: NodeRoom) -> None:
        """Remove the machine that was added last. Later additions have already been undone."""
        if room.row:
            room.row.rooms.remove(room)
        if self._spreading:
            self._spreading.forget_last()

    def rooms(self) -> Iterator[NodeRoom]:
        """Yield every node, including those that are to be made."""
        return (room for class_ in self._classes.values() for row in class_.rows for room in row.rooms)

    def fitting(self, where: NodeConstraints) -> Sequence[EquivalentNodes]:
        """Return the classes whose nodes allow a pod, in the order in which they are used."""
        matches = self._fitting.get(where)
        if matches is None:
            anywhere = where.names_nodes
            fits = [class_ for class_ in self._classes.values() if anywhere or not mismatch(where, class_.kind)]
            fits.sort(key=lambda class_: (class_.tier, str(class_.kind.labels), class_.kind.taints))
            matches = self._fitting[where] = tuple(fits)
        return matches

    def place(
        self, need: PodNeed, count: int, *, tiers: Sequence[Tier], domain: tuple[str, str] | None = None
    ) -> list[tuple[NodeRoom, int]]:
        """Place up to ``count`` pods on nodes of these tiers, as many as there is room for. Return the nodes, each with
        its number of placed pods. ``domain`` is a label and its value, which the nodes must have."""
        if not need.spreads or not self._spreading:
            return self._place_once(need, count, tiers, domain)
        placed: list[tuple[NodeRoom, int]] = []
        while count:
            self._spreading.begin(need)
            more = self._place_once(need, count, tiers, domain)
            if not more:
                break
            placed += more
            count -= sum(some for _, some in more)
        return placed

    def _place_once(
        self, need: PodNeed, count: int, tiers: Sequence[Tier], domain: tuple[str, str] | None
    ) -> list[tuple[NodeRoom, int]]:
        placed: list[tuple[NodeRoom, int]] = []
        for class_ in self._chosen(need, tiers, domain):
            best = class_.best
            if not best:
                continue
            for index, amount in need.vector:
                if best[index] < amount:
                    break
            else:
                count -= self._place_in(need, count, class_, placed)
                if not count:
                    break
        return placed

    def _chosen(
        self, need: PodNeed, tiers: Sequence[Tier], domain: tuple[str, str] | None
    ) -> Sequence[EquivalentNodes]:
        """Return the fitting classes of these tiers and this domain, in order."""
        where, closed = need.shape.where, need.closed
        fitting = self.fitting(where)
        key = (where, tiers, domain, closed)
        classes = self._selected.get(key)
        if classes is None:
            classes = self._selected[key] = tuple(
                class_
                for class_ in fitting
                if class_.tier in tiers
                and (not domain or class_.labels.get(domain[0]) == domain[1])
                and not any(class_.labels.get(label) == value for label, value in closed)
            )
        return classes

    def _place_in(self, need: PodNeed, count: int, class_: EquivalentNodes, placed: list[tuple[NodeRoom, int]]) -> int:
        """Place pods on the nodes of a class, and return how many."""
        before = count
        for row in class_.rows:
            best = row.best
            for index, amount in need.vector:
                if best[index] < amount:
                    break
            else:
                count -= self._place_on(need, count, row, placed)
                if not count:
                    break
        if count < before:
            class_.stale = True
        elif class_.stale:
            self._journal.append(partial(_loosen, class_, class_.best))
            class_.best = most_of_each(row.best for row in class_.rows)
            class_.stale = False
        return before - count

    def _place_on(self, need: PodNeed, count: int, row: NodeRow, placed: list[tuple[NodeRoom, int]]) -> int:
        """Place pods on the nodes of a row, and return how many."""
        before = count
        vector = need.vector
        for room in row.rooms:
            free = room.free
            for index, amount in vector:
                if free[index] < amount:
                    break
            else:
                some = room.most_pods(need, count)
                if need.spreads and self._spreading:
                    some = min(some, self._spreading.most_pods(room))
                if some and need.competes:
                    some = self._volumes.most_pods(need.shape, room.kind, room.name if room.node else "", some)
                if not some or (need.by_name and mismatch(need.shape.where, room.kind, room.name)):
                    continue
                self.reserve(room, need, some)
                placed.append((room, some))
                count -= some
                if not count:
                    break
        if count == before and row.stale:
            self._journal.append(partial(_loosen, row, row.best))
            row.best = most_of_each(room.free for room in row.rooms) or [0] * len(row.best)
            row.stale = False
        return before - count

    def reserve(self, room: NodeRoom, need: PodNeed, count: int) -> None:
        """Take the room of pods on a node, as it is and as it will be."""
        self._reserve(room, need, count)
        if room.later:
            self._reserve(room.later, need, count)
        if need.competes:
            self._journal.append(self._volumes.take(need.shape, room.kind, room.name if room.node else "", count))

    def _reserve(self, room: NodeRoom, need: PodNeed, count: int) -> None:
        former = (room.matches, room.owns, room.ports, room.volumes)
        for index, amount in need.vector:
            room.free[index] -= amount * count
        room.taken += count
        if room.kind.host is not None:
            room.matches |= need.matches
            room.owns |= need.owns
        for mate in room.mates:
            self._journal.append(partial(_set_rules, mate, mate.matches, mate.owns))
            mate.matches, mate.owns = room.matches, room.owns
        room.ports |= need.ports
        if need.shared:
            for index, volume in need.shared:
                room.free[index] -= volume not in room.volumes
            room.volumes |= {volume for _, volume in need.shared}
        for bit in need.counted:
            room.count(bit, count)
        if room.row:
            room.row.stale = True
        self._journal.append(partial(_give_back, room, need, count, former))

    def allows(self, need: PodNeed, room: NodeRoom) -> bool:
        """Return whether a pod's spreadings allow it on a machine that is to be made."""
        if not self._spreading:
            return True
        self._spreading.begin(need)
        return self._spreading.most_pods(room) > 0

    def most_new(self, need: PodNeed, kind: NodeKind, count: int) -> int:
        """Return the number of pods, at most ``count``, that can have their volumes on a machine that is to be made."""
        return self._volumes.most_pods(need.shape, kind, "", count) if need.competes else count

    def volume_obstacle(self, need: PodNeed, count: int) -> str:
        """Return why some pods cannot have their volumes, wherever they are; empty when they can."""
        return self._volumes.obstacle(need.shape, count) if need.competes else ""

    def uncount(self, room: NodeRoom, need: PodNeed) -> None:
        """Stop counting a pod on its node for spreadings."""
        host = room.later or room
        for bit in need.counted:
            host.count(bit, -1)
            self._journal.append(partial(host.count, bit, 1))

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Register an undo function for :meth:`undo_to`."""
        self._journal.append(undo)

    def checkpoint(self) -> int:
        """Return a point to which :meth:`undo_to` can return."""
        return len(self._journal)

    def undo_to(self, checkpoint: int) -> None:
        """Undo everything since a checkpoint."""
        while len(self._journal) > checkpoint:
            self._journal.pop()()

    def values_of(self, key: str) -> set[str]:
        """Return every value that a label has on nodes, including those to be made."""
        return {value for class_ in self._classes.values() if (value := class_.labels.get(key)) is not None}

    def upper_bound(self, need: PodNeed, count: int, domain: tuple[str, str]) -> int:
        """Return an upper bound of the number of pods, at most ``count``, that fit on existing nodes of a domain."""
        most = 0
        for class_ in self.fitting(need.shape.where):
            if class_.labels.get(domain[0]) == domain[1]:
                for row in class_.rows:
                    each = min((row.best[index] // amount for index, amount in need.vector), default=count)
                    most += len(row.rooms) * (min(each, 1) if need.alone else each)
                    if most >= count:
                        return count
        return most


def _loosen(part: NodeRow | EquivalentNodes, best: list[int]) -> None:
    part.best, part.stale = best, True


def _set_rules(room: NodeRoom, matches: int, owns: int) -> None:
    room.matches, room.owns = matches, owns


def _give_back(
    room: NodeRoom, need: PodNeed, count: int, former: tuple[int, int, frozenset[str], frozenset[VolumeId]]
) -> None:
    for index, amount in need.vector:
        room.free[index] += amount * count
    room.taken -= count
    for bit in need.counted:
        room.count(bit, -count)
    room.matches, room.owns, room.ports, room.volumes = former
    for index, volume in need.shared:
        room.free[index] += volume not in room.volumes
