"""New nodes of pools: their labels and taints, the amounts they have for pods, and the daemon sets' pods on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from contract.kubernetes.quantities import Resources
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import ClusterNode, DaemonPod
from services.autoscaler.free_capacity import PodNeed, blocking_ports, held_ports
from services.autoscaler.pod_shapes import NodeConstraints, NodeKind, absent_amount
from services.autoscaler.pool_outlook import GroupOutlook, PoolOutlook
from services.autoscaler.scheduling_rules import keeps_apart, mismatch

HUGE_PAGES = "hugepages-"
Content = tuple[list[int], tuple[tuple[str, PodNeed], ...]]
"""Free amounts in the ledger's order, and the pods of daemon sets by the daemon sets' names."""


class NewNodeContents:
    """Contents of new nodes for one ledger, worked out once for each pool and kind."""

    def __init__(self, ledger: CapacityLedger, daemons: Iterable[DaemonPod], *, after: datetime) -> None:
        """Nodes that were made after the time ``after`` may still lack daemon sets' pods."""
        self._ledger, self._after = ledger, after
        self._needs = {id(daemon): (daemon, ledger.needs.of_daemon(daemon)) for daemon in daemons}
        self._known: dict[tuple[str, NodeKind], Content] = {}

    def of(self, pool: PoolOutlook, kind: NodeKind) -> Content:
        """Return the amounts that a pool's new node of a kind has for other pods, and the daemon sets' pods on it."""
        known = self._known.get((pool.name, kind))
        if known is None:
            daemons = [daemon for daemon, _ in self._needs.values()]
            known = self._known[pool.name, kind] = self._content(new_node_content(pool, kind, daemons))
        return known

    def left(self, node: ClusterNode) -> Content:
        """Return the amounts that a node has for other pods once it has all daemon sets' pods, and the daemon sets'
        pods that it still lacks. Their controller makes them when it sees the node, which takes a while when many nodes
        join."""
        if not self._needs or node.made is None or node.made <= self._after:
            return self._ledger.needs.amounts(node.free), ()
        late = (daemon for daemon, _ in self._needs.values() if not _is_there(daemon, node))
        return self._content(_with_daemons(node.free, node.kind, late))

    def _content(self, content: tuple[Resources, tuple[DaemonPod, ...]]) -> Content:
        free, daemons = content
        return self._ledger.needs.amounts(free), tuple((daemon.name, self._needs[id(daemon)][1]) for daemon in daemons)


def new_node_kind(pool: PoolOutlook, group: GroupOutlook) -> NodeKind:
    """Return the kind of a group's next node."""
    labels = tuple(sorted({*pool.pool.labels, *group.group.labels}))
    return NodeKind(labels=labels, taints=pool.taints, variants=pool.pool.variants)


def new_node_content(
    pool: PoolOutlook, kind: NodeKind, daemons: Iterable[DaemonPod]
) -> tuple[Resources, tuple[DaemonPod, ...]]:
    """Return the amounts that a new node has for other pods, and the daemon sets' pods that may be on it and have room
    (kubernetes 1.36, ``pkg/controller/daemon``, ``NodeShouldRunDaemonPod``)."""
    return _with_daemons(pool.capacity, kind, daemons)


def _with_daemons(
    amounts: Resources, kind: NodeKind, daemons: Iterable[DaemonPod]
) -> tuple[Resources, tuple[DaemonPod, ...]]:
    free = dict(amounts)
    pods: list[DaemonPod] = []
    certain: list[DaemonPod] = []
    """Pods that request only resources that the node is known to have. Other pods make way for them."""
    for daemon in daemons:
        if (
            _may_run(daemon.shape.where, kind)
            and all(_left(free, name, amount) >= amount for name, amount in daemon.shape.requests)
            and not any(_is_kept_off(daemon, other) for other in certain)
        ):
            pods.append(daemon)
            if not daemon.shape.unknown and all(name in free for name, _ in daemon.shape.requests):
                certain.append(daemon)
            for name, amount in daemon.shape.requests:
                free[name] = free.get(name, absent_amount(name)) - amount
    return free, tuple(pods)


def _is_there(daemon: DaemonPod, node: ClusterNode) -> bool:
    """Return whether a daemon set has a pod on a node."""
    return any(
        namespace == daemon.namespace and all(pair in labels for pair in daemon.labels)
        for namespace, labels in node.identities
    )


def _left(free: Resources, name: str, amount: int) -> int:
    """Return the amount of a resource that is left. A new node may have any amount of a resource that a device plugin
    brings, but no huge pages that its pool does not declare."""
    return free.get(name, 0 if name.startswith(HUGE_PAGES) else amount)


def _is_kept_off(daemon: DaemonPod, other: DaemonPod) -> bool:
    """Return whether a daemon set's pod cannot be on a node that has the pod of the ``other`` daemon set."""
    shape, beside = daemon.shape, other.shape
    if shape.ports and beside.ports and blocking_ports(shape.ports) & held_ports(beside.ports):
        return True
    return any(keeps_apart(term, other.namespace, dict(other.labels)) for term in (*shape.apart, *shape.wide)) or any(
        keeps_apart(term, daemon.namespace, dict(daemon.labels)) for term in (*beside.apart, *beside.wide)
    )


def _may_run(where: NodeConstraints, kind: NodeKind) -> bool:
    """Return whether a daemon set's pod may be on a node of a kind, in at least one of its zones."""
    zones = [
        replace(kind, labels=tuple(sorted({*kind.labels, *variant})), variants=()) for variant in kind.variants
    ] or [kind]
    return not all(mismatch(where, zone) for zone in zones)
