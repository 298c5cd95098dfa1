"""Machines that may be removed from each pool at once.

While many machines look dead, none is removed: the cause is more often the network, the API servers or the clock than
the machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from contract.reasons.autoscaler import KeepReason
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, NodeHealth
from services.autoscaler.pool_outlook import PoolOutlook
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.unfit_times import is_stuck, was_never_fit


@dataclass(kw_only=True)
class PoolRemovals:
    """Machines that may still be removed from one pool."""

    view: PoolOutlook
    now: datetime
    nodes: list[ClusterNode] = field(default_factory=list)
    unready: list[ClusterNode] = field(default_factory=list)
    """Nodes that are not ready; most pools have none."""
    cordoned: list[ClusterNode] = field(default_factory=list)
    """Nodes that the autoscaler has cordoned."""
    slots: int = 0
    """Number of further machines that may be taken out of service."""
    total: int = 0
    """Number of existing machines that the groups should have, without machines that are being removed."""
    late: int = 0
    """Number of further machines that may be ended because they never became nodes. The pool's minimum does not limit
    this number, since these machines are replaced."""
    spare: dict[str, int] = field(default_factory=dict)
    """Number of further machines that each group may lose without falling below its minimum."""
    paused: bool = False
    """True when the pool is left alone."""

    def add(self, node: ClusterNode) -> None:
        """Add a node."""
        self.nodes.append(node)
        if node.health is not NodeHealth.READY:
            self.unready.append(node)
        if node.cordon is CordonOrigin.OURS:
            self.cordoned.append(node)

    @property
    def size(self) -> int:
        """Return the number of machines that are checked for looking dead."""
        return sum(group.gone for group in self.view.groups) + len(self.nodes)

    @property
    def dead(self) -> int:
        """Return the number of machines that look dead. Machines that were never nodes do not count, since they have no
        work."""
        return sum(group.lost for group in self.view.groups) + sum(map(self.looks_dead, self.unready))

    def looks_dead(self, node: ClusterNode) -> bool:
        """Return whether a node looks dead: it does not answer, or has been starting for longer than the pool
        allows."""
        if node.health is NodeHealth.STARTING:
            # A node that was never fit for pods has not died.
            return is_stuck(node, self.view.pool.join, self.now) and not was_never_fit(node)
        return node.health is NodeHealth.SILENT

    def limit(self, most: int) -> None:
        """Set the numbers of machines that may be removed, when at most ``most`` may be leaving at once."""
        # Machines that are ending are already excluded from their groups' size.
        leaving = Counter(node.group for node in self.cordoned if is_leaving(node))
        out = leaving.total()
        groups = [group.group for group in self.view.groups]
        self.total = sum(min(group.wanted, group.machines) for group in groups) - out
        self.spare = {
            group.name: min(group.wanted, group.machines) - leaving[group.name] - group.min for group in groups
        }
        self.late = max(0, most - out - sum(group.leaving for group in groups))
        self.slots = min(self.late, self.total - self.view.pool.min)
        self.paused = self.view.is_frozen


def is_leaving(node: ClusterNode) -> bool:
    """Return whether a node is being removed and its group does not know that yet. A node that somebody wants to keep
    is not being removed."""
    return node.cordon is CordonOrigin.OURS and node.health is not NodeHealth.ENDING and not node.keep


def limit_removals(pools: Collection[PoolRemovals], share: float) -> Iterator[ScalingAction]:
    """Set the numbers of machines that may be removed from each pool. Yield a hold for each pool of which more than
    ``share`` looks dead, and one for all pools if more than ``share`` of all machines look dead."""
    dead_everywhere = machines_everywhere = 0
    for pool in pools:
        dead, size = pool.dead, pool.size
        dead_everywhere, machines_everywhere = dead_everywhere + dead, machines_everywhere + size
        most = _most_at_once(size, share)
        pool.limit(most)
        if dead > most:
            pool.paused = True
            yield _hold(f"pool {pool.view.name}", f"{_many(dead, size, most)}: none of it is touched")
    most = _most_at_once(machines_everywhere, share)
    if dead_everywhere > most:
        for pool in pools:
            pool.paused = True
        yield _hold("all pools", f"{_many(dead_everywhere, machines_everywhere, most)}: none is touched")


def _most_at_once(size: int, share: float) -> int:
    return max(1, int(share * size))


def _many(dead: int, size: int, most: int) -> str:
    return f"{dead} of {size} machines look dead at once, and at most {most} may"


def _hold(target: str, message: str) -> ScalingAction:
    return ScalingAction(verb=Verb.HOLD, target=target, reason=KeepReason.TOO_MANY_DEAD, message=message)
