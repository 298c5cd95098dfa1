"""Spreading of pods over hosts: which pods a spreading counts on each node, and how many more pods a node may have
(kubernetes 1.36, ``pkg/scheduler/framework/plugins/podtopologyspread``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from contract.taints import CORDON
from services.autoscaler.cluster_snapshot import CordonOrigin, LabelPairs, NodeHealth
from services.autoscaler.free_capacity import NodeRoom, PodNeed, Tier
from services.autoscaler.pod_shapes import HostSpread, NodeConstraints, SchedulingTaint
from services.autoscaler.scheduling_rules import is_tolerated, label_mismatch, node_labels

CORDONED, UNFIT = SchedulingTaint(CORDON), SchedulingTaint("node.kubernetes.io/not-ready")
"""Taints of nodes that take no pods now, which some pods tolerate."""
UNLIMITED = 1 << 30
"""Number of pods that stands for no limit."""


class HostSpreading:
    """All nodes that count for spreadings, including nodes that take no pods."""

    def __init__(self, bits: Sequence[int], matches: Callable[[str, LabelPairs], int]) -> None:
        """``bits`` are the bits of all spreadings. ``matches`` returns the bits that apply to a pod, by its namespace
        and labels."""
        self._bits, self._matches = bits, matches
        self._hosts: list[NodeRoom] = []
        self._unmade: list[NodeRoom] = []
        """Machines that are not nodes yet."""
        self._domains: dict[tuple[HostSpread, NodeConstraints], list[NodeRoom]] = {}
        self._where = NodeConstraints()
        self._levels: list[tuple[int, HostSpread, int]] = []
        """Spreadings of the pods that are being placed, each with its bit and the smallest number of counted pods on a
        host."""

    def add(self, room: NodeRoom) -> None:
        """Add a node, with the pods on it, or a machine that is to become a node."""
        if room.node is None:
            self._unmade.append(room)
            return
        if room.tier is not Tier.ENDING:
            self._hosts.append(room)
        for sign, identities in ((1, room.node.identities), (-1, room.node.ended)):
            for identity in identities:
                matches = self._matches(*identity)
                for bit in self._bits:
                    if bit & matches:
                        room.count(bit, sign)

    def forget_last(self) -> None:
        """Forget the machine that was added last."""
        self._unmade.pop()

    def begin(self, need: PodNeed) -> None:
        """Begin a round in which every host may have as many pods as the host with the fewest allows."""
        where = self._where = need.shape.where.of_pod
        self._levels = [(bit, spread, self._fewest(bit, spread, where)) for bit, spread in need.spreads]

    def most_pods(self, room: NodeRoom) -> int:
        """Return the number of pods that are allowed on a host in this round."""
        most = UNLIMITED
        if self._levels and room.kind.host is None:
            return 0
        for bit, spread, fewest in self._levels:
            count = _count(room, bit)
            count += sum(_count(mate, bit) for mate in room.mates if _is_domain(spread, self._where, mate))
            # Once it is a node, an empty machine is the host with the fewest.
            left = spread.max_skew + (fewest if room.node or count else 0) - count
            most = min(most, max(0, left)) if spread.itself else (most if left >= 0 else 0)
        return most

    def _fewest(self, bit: int, spread: HostSpread, where: NodeConstraints) -> int:
        """Return the smallest number of counted pods on a host (``minMatchNum``). A machine that is not a node yet
        counts as a host from its first counted pod on."""
        domains = self._domains.get((spread, where))
        if domains is None:
            domains = self._domains[spread, where] = [room for room in self._hosts if _is_domain(spread, where, room)]
        counts = [_count(room, bit) for room in domains]
        if any(room.mates for room in domains):
            hosts = Counter[str | None]()
            for room in domains:
                hosts[room.host] += _count(room, bit)
            counts = [*hosts.values()]
        counts += [room.counts[bit] for room in self._unmade if room.counts.get(bit)]
        return min(counts) if len(counts) >= max(1, spread.min_domains) else 0


def _count(room: NodeRoom, bit: int) -> int:
    """Return the number of counted pods on a host, with those that will be there."""
    return (room.later or room).counts.get(bit, 0)


def _is_domain(spread: HostSpread, where: NodeConstraints, room: NodeRoom) -> bool:
    """Return whether a host counts for a spreading (``matchNodeInclusionPolicies``)."""
    if room.kind.host is None:
        return False
    labels = node_labels(room.kind, room.name)
    if spread.by_labels and label_mismatch(where, labels, room.name):
        return False
    if not spread.by_taints:
        return True
    taints = list(room.kind.taints)
    if room.node and room.node.cordon is not CordonOrigin.NONE:
        taints.append(CORDONED)
    if room.node and room.node.health is not NodeHealth.READY:
        taints.append(UNFIT)
    return all(is_tolerated(taint, where.tolerations) for taint in taints)
