"""Capacity of a pool's next node, as its present nodes report it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain

from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.quantities import Resources
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    NodeHealth,
    ScalingPool,
)
from services.autoscaler.pod_shapes import NO_LIMIT, absent_amount

LEARNED = ("memory", "ephemeral-storage")
"""Resources whose amount on nodes is more precise than the pool's declaration. Numbers of cores and devices are taken
from the machine type: a node that has lost some, or claims more, shows nothing about the next node."""

MEDIAN_FROM = 3
"""Number of a pool's nodes from which on the lower median counts."""

LEAST_SHARE, MOST_SHARE = 0.85, 1.1
"""Bounds for the amounts that nodes report, as a share of the declared amount. The whole memory of a machine is at most
1.08 times the declared share (:data:`services.autoscaler.declared_capacity.USABLE_MEMORY_SHARE`)."""


def learned_capacity(nodes: Iterable[ClusterNode], memory: DecisionMemory) -> dict[str, Resources]:
    """Return the amounts that ready nodes of each pool report: the lower median of three or more nodes, so that a node
    that has lost memory, or lies, does not affect the next one; the minimum of fewer nodes. For a pool without ready
    nodes, return the remembered amounts."""
    alike: dict[str, Counter[tuple[tuple[str, int], ...]]] = defaultdict(Counter)
    for node in nodes:
        if node.pool and node.health is NodeHealth.READY and node.allocatable:
            alike[node.pool][tuple(node.allocatable.items())] += 1
    return {**memory.learned, **{pool: _typical(counts) for pool, counts in alike.items()}}


def _typical(counts: Counter[tuple[tuple[str, int], ...]]) -> Resources:
    """Return the typical amounts of a pool's nodes, from the number of nodes with equal amounts."""
    every = [(dict(amounts), count) for amounts, count in counts.items()]
    if len(every) == 1:
        return every[0][0]
    total = counts.total()
    skipped = (total - 1) // 2 if total >= MEDIAN_FROM else 0
    return {
        name: amount
        for name in {*chain(*(capacity for capacity, _ in every))}
        # A node whose driver of volumes has not started yet has no limit.
        if (
            amount := _ranked(
                ((capacity.get(name, absent_amount(name)), count) for capacity, count in every),
                skipped,
            )
        )
        != NO_LIMIT
    }


def _ranked(amounts: Iterable[tuple[int, int]], skipped: int) -> int:
    """Return the smallest amount after the first ``skipped`` ones. ``amounts`` holds each amount with the number of its
    nodes."""
    for amount, count in sorted(amounts):
        skipped -= count
        if skipped < 0:
            return amount
    return 0


def accepted_capacity(pool: ScalingPool, learned: Resources) -> Resources:
    """Return the learned amounts that are accepted for the pool's next node. Declared memory and storage are kept
    within bounds, so that one bad node neither stops nor multiplies the pool's growth. All undeclared resources are
    accepted."""
    believed = {}
    for name, amount in learned.items():
        declared = pool.capacity.get(name)
        if declared is None:
            believed[name] = amount
        elif name in LEARNED:
            believed[name] = min(max(amount, int(LEAST_SHARE * declared)), int(MOST_SHARE * declared))
    return believed
