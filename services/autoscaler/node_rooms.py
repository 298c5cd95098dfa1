"""Rooms of nodes, and of machines that will become nodes. The tier of a room decides when the room is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, NodeHealth
from services.autoscaler.free_capacity import NOW, NodeRoom, Tier
from services.autoscaler.new_nodes import NewNodeContents, new_node_kind
from services.autoscaler.pod_shapes import NodeKind
from services.autoscaler.pool_outlook import PoolOutlook
from services.autoscaler.purchase_review import PurchaseReview
from services.autoscaler.unfit_times import is_stuck


def node_rooms(
    nodes: Iterable[ClusterNode],
    pools: Mapping[str, PoolOutlook],
    ledger: CapacityLedger,
    contents: NewNodeContents,
    review: PurchaseReview,
    now: datetime,
) -> dict[str, NodeRoom]:
    """Add every node, and every machine that will become a node, to the ledger. Nodes that take no pods count only
    where pods are spread over hosts. Return the rooms of the nodes that take pods, now or soon, by node name."""
    rooms: dict[str, NodeRoom] = {}
    rooms_later: list[NodeRoom] = []
    tier: Tier | None
    for node in nodes:
        pool = pools.get(node.pool)
        if node.name in review.starting and pool is not None:
            tier, expected = Tier.COMING, _as_expected(node, pool)
        else:
            tier, expected = _tier(node, pool, now), node
        if tier is None:
            ledger.add_outside(node)
            continue
        busy = node.work or node.moving or node.leaving
        if tier is Tier.COMING and pool is not None and pool.groups and not busy:
            # Some of its resources are not registered yet: a device plugin starts last. A node with pods has
            # registered all of them, and got a taint of starting nodes later.
            empty, pods = contents.of(pool, expected.kind)
            free = list(empty)
        else:
            free, pods = contents.left(node)
        room = NodeRoom(node.name, expected.kind, tier, free, expected)
        if pods:
            room.carry(need for _, need in pods)
        room.refuses = review.refusing.get(node.name, room.refuses)
        rooms[node.name] = room
        if node.later and tier in NOW:
            rooms_later.append(_later(room, node.later, contents))
    ledger.add_all((*rooms.values(), *rooms_later))
    _add_coming(pools.values(), ledger, contents)
    return rooms


def _later(room: NodeRoom, node: ClusterNode, contents: NewNodeContents) -> NodeRoom:
    """Return the room of a node once the pods are gone that are being ended."""
    free, pods = contents.left(node)
    later = NodeRoom(room.name, room.kind, Tier.ENDING, free, node)
    later.carry(need for _, need in pods)
    later.refuses, room.later = room.refuses, later
    return later


def _add_coming(pools: Iterable[PoolOutlook], ledger: CapacityLedger, contents: NewNodeContents) -> None:
    """Add the machines that will become nodes."""
    for pool in pools:
        for group in pool.groups:
            if group.coming:
                kind = new_node_kind(pool, group)
                empty, pods = contents.of(pool, kind)
                for number in range(group.nodes + 1, group.nodes + group.coming + 1):
                    room = NodeRoom(f"{group.name}+{number}", kind, Tier.COMING, list(empty))
                    room.carry(need for _, need in pods)
                    ledger.add(room)


def _as_expected(node: ClusterNode, pool: PoolOutlook) -> ClusterNode:
    """Return a node as it was expected when its machine was requested."""
    group = next((group for group in pool.groups if group.name == node.group), None)
    kind = new_node_kind(pool, group) if group else node.kind
    labels = {**dict(kind.labels), **dict(node.kind.labels)}
    return replace(
        node,
        kind=NodeKind(tuple(sorted(labels.items())), kind.taints, host=node.kind.host),
        ports=frozenset(),
        identities=(),
        apart=(),
        ended=(),
    )


def _tier(node: ClusterNode, pool: PoolOutlook | None, now: datetime) -> Tier | None:
    """Return the tier of a node's room; None when nothing may be placed on it."""
    if node.cordon is CordonOrigin.OTHERS or node.health in (NodeHealth.SILENT, NodeHealth.ENDING):
        return None
    if node.health is NodeHealth.STARTING:
        stuck = pool is not None and is_stuck(node, pool.pool.join, now)
        return None if stuck or node.cordon is not CordonOrigin.NONE else Tier.COMING
    if node.cordon is CordonOrigin.OURS:
        # A request to end it may be running, since its cloud does not answer.
        return None if node.keep or (pool is not None and pool.is_frozen) else Tier.CORDONED
    if pool is None or not pool.groups:
        return Tier.RACK
    return Tier.BUSY if node.work else Tier.IDLE
