"""Spare nodes: empty nodes that a pool keeps beyond the needed nodes."""

from __future__ import annotations

from collections.abc import Mapping

from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.free_capacity import NodeRoom, Tier
from services.autoscaler.machine_offers import Market
from services.autoscaler.pool_outlook import PoolOutlook

KEPT = (Tier.IDLE, Tier.COMING, Tier.NEW, Tier.CORDONED)
"""Tiers whose nodes may be spare, first the tiers that cost nothing more."""


def reserve_spares(pools: Mapping[str, PoolOutlook], ledger: CapacityLedger, market: Market) -> None:
    """Reserve each pool's spare nodes, after all demand was placed, and request missing ones. No pods are moved onto
    spare nodes either: that would make another node spare, and so on."""
    lacking = {name: view.pool.spare for name, view in pools.items() if view.pool.spare}
    if not lacking:
        return
    groups = {group.name: name for name in lacking for group in pools[name].groups}
    empty = [room for room in ledger.rooms() if room.tier in KEPT and not room.taken and _is_empty(room)]
    for room in sorted(empty, key=lambda candidate: (candidate.tier, candidate.name)):
        pool = room.node.pool if room.node else groups.get(room.name.rpartition("+")[0], "")
        if lacking.get(pool):
            lacking[pool] -= 1
            room.spare = room.closed = True
    for name, number in lacking.items():
        market.add_spares(name, number)


def _is_empty(room: NodeRoom) -> bool:
    node = room.node
    return node is None or not (node.work or node.moving or node.leaving)
