"""Free capacity of nodes.

Nodes are sorted into classes. The nodes of a class have the same taints, and the same values of all labels that a
waiting pod selects by. Each class is divided into rows of a few nodes. A row has upper bounds of the amounts that its
nodes have free, so most rows are skipped at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain

from services.autoscaler.cluster_snapshot import ClusterNode
from services.autoscaler.pod_shapes import (
    AntiAffinity,
    HostSpread,
    NodeKind,
    PodShape,
    SelectorOperator,
)
from services.autoscaler.volume_counts import VolumeId

ROW = 32
"""Number of nodes in a row."""


class Tier(IntEnum):
    """Order in which room is used."""

    RACK = 0
    """Hosts, which cost nothing by the hour."""
    BUSY = 1
    """Nodes that stay anyway."""
    IDLE = 2
    COMING = 3
    """Nodes that are starting, and machines from earlier requests."""
    NEW = 4
    """Machines that this decision has requested."""
    ENDING = 5
    """Room of pods that are being ended and will soon be gone, which costs nothing more."""
    CORDONED = 6
    """Nodes that the autoscaler cordoned. They are used before further machines are requested."""


ANY = ("", "")
"""Placeholder for the label of anti-affinities that require no exact label."""

NOW = (Tier.RACK, Tier.BUSY, Tier.IDLE)
"""Tiers whose nodes take pods at once."""


def held_ports(ports: Iterable[str]) -> frozenset[str]:
    """Return the marks of ports in use. A port on all addresses has one mark, ``TCP/80``. A port on one address has two
    marks: ``TCP/80@10.0.0.1``, and ``TCP/80@`` for any single address (k8s.io/kube-scheduler, ``framework``,
    ``HostPortInfo.CheckConflict``)."""
    return frozenset(chain(*map(_marks, ports)))


def _marks(port: str) -> tuple[str, ...]:
    name, at, _ = port.partition("@")
    return (port, f"{name}@") if at else (name,)


def blocking_ports(ports: Iterable[str]) -> frozenset[str]:
    """Return the marks that, when in use on a node, exclude these ports."""
    return frozenset(chain(*map(_conflicts, ports)))


def _conflicts(port: str) -> tuple[str, str]:
    name, at, _ = port.partition("@")
    return (port, name) if at else (name, f"{name}@")


class PodNeed:
    """A shape, translated for one ledger."""

    __slots__ = (
        "alone", "by_name", "closed", "competes", "counted", "matches", "owns", "ports", "shape", "shared", "spreads",
        "taken_by", "vector",
    )  # fmt: skip

    def __init__(
        self,
        shape: PodShape,
        vector: tuple[tuple[int, int], ...],
        *,
        matches: int,
        owns: int,
        closed: frozenset[tuple[str, str]] = frozenset(),
        spreads: tuple[tuple[int, HostSpread], ...] = (),
        counted: tuple[int, ...] = (),
        shared: tuple[tuple[int, VolumeId], ...] = (),
    ) -> None:
        """``matches`` and ``owns`` are sets of anti-affinities, as bits: the anti-affinities that select the pod, and
        the pod's own ones. ``closed`` are labels: running pods' anti-affinities exclude the pod from nodes that have
        one of them. ``spreads`` are the pod's spreadings, each with the bit of the pods that it counts. ``counted`` are
        the bits of all spreadings that count the pod."""
        self.shape, self.vector, self.matches, self.owns = shape, vector, matches, owns
        self.closed, self.spreads, self.counted, self.shared = closed, spreads, counted, shared
        self.competes = bool(shape.free_volumes or shape.single_claims)
        """True when other pods can take the volumes or claims that the pod needs."""
        self.ports = held_ports(shape.ports)
        self.taken_by = blocking_ports(shape.ports)
        """Marks of other pods' ports that exclude the pod."""
        self.by_name = shape.where.names_nodes
        self.alone = bool(self.ports or matches & owns)
        """True when two such pods cannot be on one node."""

    def excludes(self, other: PodNeed) -> bool:
        """Return whether two pods cannot be on one node, because one keeps apart from the other or both use one
        port."""
        return bool(self.matches & other.owns or self.owns & other.matches or self.taken_by & other.ports)


NO_COUNTS: Mapping[int, int] = {}
"""Counts of a node without counted pods. One mapping is shared, since nearly all nodes have no counted pods."""


class NodeRoom:
    """Free amounts on one node."""

    __slots__ = (
        "closed", "counts", "free", "kind", "later", "matches", "mates", "name", "node", "owns", "ports", "refuses",
        "row", "spare", "taken", "tier", "volumes",
    )  # fmt: skip

    def __init__(self, name: str, kind: NodeKind, tier: Tier, free: list[int], node: ClusterNode | None = None) -> None:
        self.name, self.kind, self.tier, self.free, self.node = name, kind, tier, free, node
        self.matches, self.owns = 0, 0
        self.counts: Mapping[int, int] = NO_COUNTS
        """Number of pods by the bits of spreadings that count them."""
        self.ports: frozenset[str] = held_ports(node.ports) if node and node.ports else frozenset()
        self.volumes: frozenset[VolumeId] = node.volumes if node else frozenset()
        """Volumes in use that several pods use."""
        self.taken = 0
        """Number of pods that were placed on the node."""
        self.closed = False
        """True when nothing more may be placed on the node."""
        self.spare = False
        """True when the pool keeps the node empty."""
        self.refuses: frozenset[PodShape] = frozenset()
        """Shapes that the scheduler does not place on the node although they should fit."""
        self.row: NodeRow | None = None
        self.later: NodeRoom | None = None
        """The same node once the pods are gone that are being ended."""
        self.mates: tuple[NodeRoom, ...] = ()
        """Other nodes whose label names the same host."""

    @property
    def host(self) -> str | None:
        """Return the host that the node's label names; None without such a label."""
        return None if self.kind.host is None else self.kind.host or self.name

    def count(self, bit: int, number: int) -> None:
        """Count pods for a spreading."""
        self.counts = {**self.counts, bit: self.counts.get(bit, 0) + number}

    def carry(self, daemons: Iterable[PodNeed]) -> None:
        """Count daemon sets' pods that will be on the node. Their requests have already been subtracted from the free
        amounts."""
        for need in daemons:
            self.matches |= need.matches
            self.owns |= need.owns
            self.ports |= need.ports
            for bit in need.counted:
                self.count(bit, 1)

    def most_pods(self, need: PodNeed, count: int) -> int:
        """Return the number of pods that fit, at most ``count``."""
        if self.closed or (self.refuses and need.shape in self.refuses):
            return 0
        if need.alone and (need.ports or self.kind.host is not None):
            count = min(count, 1)
        if need.matches & self.owns or need.owns & self.matches or need.taken_by & self.ports:
            return 0
        free = self.free
        for index, amount in need.vector:
            some = free[index] // amount
            if some < count:
                if some <= 0:
                    return 0
                count = some
        if need.shared:
            count = fit_shared(free, self.volumes, need, count)
        # Pods for which others make room come onto the node too.
        return self.later.most_pods(need, count) if self.later else count


def fit_shared(free: Sequence[int], volumes: frozenset[VolumeId], need: PodNeed, count: int) -> int:
    """Return the number of pods, at most ``count``, for which a node also has room for the volumes that they share."""
    missing = Counter(index for index, volume in need.shared if volume not in volumes)
    for index, number in missing.items():
        left, each = free[index] - number, dict(need.vector).get(index, 0)
        count = 0 if left < 0 else min(count, left // each) if each else count
    return count


def labels_of(term: AntiAffinity) -> Iterator[tuple[str, str]]:
    """Yield alternative labels: every pod that an anti-affinity selects has at least one of them. Yield :data:`ANY`
    when no label is certain."""
    exact = next((requirement for requirement in term.labels if requirement.operator is SelectorOperator.IN), None)
    if exact is None:
        yield ANY
    else:
        yield from ((exact.key, value) for value in exact.values)


def most_of_each(amounts: Iterable[Sequence[int]]) -> list[int]:
    """Return the largest amount of each resource."""
    return [max(column) for column in zip(*amounts, strict=True)]


class NodeRow:
    """A few nodes of one class."""

    __slots__ = ("best", "rooms", "stale")

    def __init__(self, rooms: list[NodeRoom]) -> None:
        self.rooms = rooms
        self.best = most_of_each(room.free for room in rooms)
        """Upper bound of the free amount of each resource on any of the nodes."""
        self.stale = False
        for room in rooms:
            room.row = self

    def add(self, room: NodeRoom) -> None:
        """Add a node at the end."""
        room.row = self
        self.rooms.append(room)
        self.best = list(map(max, self.best, room.free))


class EquivalentNodes:
    """Nodes that agree on tier, taints, and every label that pods select by."""

    __slots__ = ("best", "kind", "labels", "rows", "stale", "tier")

    def __init__(self, kind: NodeKind, tier: Tier) -> None:
        """``kind`` is the kind of any of the nodes."""
        self.kind, self.tier = kind, tier
        self.labels = dict(kind.labels)
        self.rows: list[NodeRow] = []
        self.best: list[int] = []
        """Upper bound of the free amount of each resource on any of the nodes; empty without nodes."""
        self.stale = False

    def add_all(self, rooms: Sequence[NodeRoom]) -> None:
        """Add nodes after all others."""
        self.rows += [NodeRow(list(rooms[begin : begin + ROW])) for begin in range(0, len(rooms), ROW)]
        self.best = most_of_each(row.best for row in self.rows)

    def add(self, room: NodeRoom) -> None:
        """Add a node after all others."""
        if self.rows and len(self.rows[-1].rooms) < ROW:
            self.rows[-1].add(room)
        else:
            self.rows.append(NodeRow([room]))
        self.best = list(map(max, self.best, room.free)) if self.best else list(room.free)
