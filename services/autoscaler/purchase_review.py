"""Purchases that did not help: machines that were made for pods of one shape, became nodes, and did not take them.

Whatever the cause is, the pool has then failed for that shape: pods of the shape go to the next pool, and the pool is
asked for them again after a pause, for one machine at first. A node that took any other pod was of use, and is no
failure. The memory holds one record for each pool and shape, by a name of the shape that restarts do not change.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice

from contract.documents.autoscaler_memory import Backoff, Purchase
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import ClusterNode, ClusterSnapshot, CordonOrigin, NodeHealth
from services.autoscaler.machine_offers import Market
from services.autoscaler.pod_demand import shapes_of
from services.autoscaler.pod_shapes import PodShape, absent_amount
from services.autoscaler.pool_outlook import PoolOutlook
from services.autoscaler.refusal_backoff import format_duration, next_backoff, skipped
from services.autoscaler.scheduling_rules import mismatch
from services.autoscaler.shortage_reasons import quantity
from services.autoscaler.time_limits import ScalingLimits

MOST = 500
"""Maximum number of records, since a ConfigMap is limited to 1 MiB. Records of failures are kept before other
records."""

Purchases = Mapping[str, Mapping[str, Purchase]]
"""Records by pool and shape."""

NEVER_READY, USELESS, UNBOUND, USED = range(4)


@dataclass(frozen=True, kw_only=True)
class _Wait:
    """Waiting pods of one shape."""

    shape: PodShape
    pods: int
    """Number of pods; 0 when a request declares the members and none of them is a pod yet."""
    in_gang: bool


@dataclass(kw_only=True)
class PurchaseReview:
    """Results of earlier purchases, as input of this decision."""

    records: dict[tuple[str, str], Purchase] = field(default_factory=dict)
    closed: dict[PodShape, dict[str, Obstacle]] = field(default_factory=dict)
    """Pools that are not asked for a shape now, with the reason."""
    trials: set[tuple[PodShape, str]] = field(default_factory=set)
    """Shapes and pools that failed. Only one machine is requested at a time, until one helps."""
    starting: set[str] = field(default_factory=set)
    """Nodes that still count as starting: some of their resources may not be registered yet."""
    refusing: dict[str, frozenset[PodShape]] = field(default_factory=dict)
    """Shapes that the scheduler does not place on a node although they should fit, by node."""

    def close(self, shape: PodShape, pool: str, obstacle: Obstacle) -> None:
        """Record why a pool must not be asked for a shape."""
        self.closed.setdefault(shape, {})[pool] = obstacle


@lru_cache(maxsize=8192)
def shape_key(shape: PodShape) -> str:
    """Return a short name of a shape that is the same in every process."""
    return hashlib.sha256(repr(shape).encode()).hexdigest()[:16]


def review_purchases(
    snapshot: ClusterSnapshot,
    pools: Mapping[str, PoolOutlook],
    purchases: Purchases,
    idle: Mapping[str, datetime],
    now: datetime,
) -> PurchaseReview:
    """Judge the remembered purchases. ``idle`` are the times since which nodes have had no work. If no machine of a
    purchase became fit for pods, its pool has failed for every shape: set ``unfit`` of that pool."""
    review = PurchaseReview()
    if not purchases:
        return review
    waits = {shape_key(wait.shape): wait for wait in _waits(snapshot)}
    nodes: dict[str, list[ClusterNode]] = {}
    for node in sorted(snapshot.nodes, key=lambda node: node.name):
        if node.pool in purchases and node.health is not NodeHealth.ENDING:
            nodes.setdefault(node.pool, []).append(node)
    gangs = {key for key, wait in waits.items() if wait.in_gang}
    gang_comes = any(
        group.coming
        for pool, records in purchases.items()
        if pool in pools and any(key in gangs and record.asked for key, record in records.items())
        for group in pools[pool].groups
    )
    for pool, records in sorted(purchases.items()):
        if pool in pools:
            for key, record in sorted(records.items()):
                judge = _Judge(snapshot, pools[pool], nodes.get(pool, ()), review, now)
                judge.judge(key, record, waits.get(key), idle, gang_comes=gang_comes)
    return review


def remember_purchases(review: PurchaseReview, market: Market, now: datetime) -> dict[str, dict[str, Purchase]]:
    """Return the records, including the machines that this decision asks for."""
    records = dict(review.records)
    new = (
        (offer.pool.name, shape)
        for offer in market.offers
        for shape in {id(shape): shape for shape in offer.shapes}.values()
    )
    for pool, shape in islice(new, MOST):
        place = (pool, shape_key(shape))
        record = records.get(place, Purchase())
        records[place] = replace(record, asked=record.asked or now)

    def worth(place: tuple[str, str]) -> tuple[bool, datetime, tuple[str, str]]:
        record = records[place]
        return record.failure is not None, record.asked or datetime.min.replace(tzinfo=UTC), place

    purchases: dict[str, dict[str, Purchase]] = {}
    for place in sorted(sorted(records, key=worth)[-MOST:]):
        purchases.setdefault(place[0], {})[place[1]] = records[place]
    return purchases


def _waits(snapshot: ClusterSnapshot) -> Iterable[_Wait]:
    """Yield the waiting pods by shape. Nominated pods are left out, since the scheduler is making room for them."""
    # Pods share their shape objects, so these are compared by value once for each object.
    pods = [pod for pod in snapshot.pods if not pod.nominated]
    shapes = {id(pod.shape): pod.shape for pod in pods}
    counts: Counter[PodShape] = Counter()
    for key, number in Counter(id(pod.shape) for pod in pods).items():
        counts[shapes[key]] += number
    declared = shapes_of((), snapshot.gangs)
    in_gang = {shapes[key] for key in {id(pod.shape) for pod in pods if pod.gang}} | {*declared}
    for shape in dict.fromkeys((*counts, *declared)):
        if not shape.unknown:
            yield _Wait(shape=shape, pods=counts[shape], in_gang=shape in in_gang)


class _Judge:
    """Judges one record."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        pool: PoolOutlook,
        nodes: Sequence[ClusterNode],
        review: PurchaseReview,
        now: datetime,
    ) -> None:
        self._snapshot, self._pool, self._nodes, self._review, self._now = snapshot, pool, nodes, review, now
        self._settings: ScalingLimits = snapshot.settings

    def judge(
        self, key: str, record: Purchase, wait: _Wait | None, idle: Mapping[str, datetime], *, gang_comes: bool
    ) -> None:
        """Judge a record, keep what remains of it, and note what follows for its shape."""
        failure, now, most = record.failure, self._now, self._settings.longest_backoff
        if failure:
            # As for pools: a failure long ago is forgotten, and a jump of the clock makes no longer pause.
            failure = replace(failure, until=min(failure.until, now + most)) if now < failure.until + most else None
        record = replace(record, failure=failure, failed=record.failed if failure else None)
        if record.asked and now - record.asked > most and wait is None:
            record = replace(record, asked=None)
        if wait is None:
            record = replace(record, unused=None, waits=0)
        elif record.asked:
            record = self._judge_nodes(record, record.asked, wait, gang_comes=gang_comes)
        if record.asked or record.failure:
            self._review.records[self._pool.name, key] = record
        if wait is not None and record.failure:
            self._note(record, record.failure, wait.shape, idle)

    def _judge_nodes(self, record: Purchase, asked: datetime, wait: _Wait, *, gang_comes: bool) -> Purchase:
        """Return the record after judging the nodes that were made after the purchase."""
        # Times of nodes are whole seconds.
        came = [node for node in self._nodes if node.made and node.made > asked - timedelta(seconds=1)]
        states = [(node, *self._state(node, wait.shape)) for node in came]
        by_state = {kind: [entry for entry in states if entry[1] == kind] for kind in range(4)}
        if by_state[NEVER_READY]:
            return self._failed_to_start(record, by_state[NEVER_READY][0][0], came)
        if by_state[USELESS]:
            node, _, why = by_state[USELESS][0]
            since = record.unused or self._now
            if self._now - since < self._settings.registration_time:
                self._review.starting |= {node.name for node, _, _ in by_state[USELESS]}
                return replace(record, unused=since, waits=wait.pods)
            return self._failed(record, WaitReason.NOT_TAKEN, f"{node.name} was made for this and is of no use: {why}")
        if by_state[UNBOUND] and wait.pods and self._snapshot.scheduling and not (wait.in_gang and gang_comes):
            # The scheduler is placing such pods one after the other.
            goes_on = wait.pods < record.waits or record.unused is None
            since = self._now if goes_on else record.unused or self._now
            if self._now - since < self._settings.binding_time:
                return replace(record, unused=since, waits=wait.pods)
            words = f"{by_state[UNBOUND][0][0].name} was made for this; the scheduler has not placed such a pod on it"
            return self._failed(record, WaitReason.NOT_TAKEN, words)
        record = replace(record, unused=None, waits=wait.pods)
        if by_state[USED] and not by_state[UNBOUND]:
            return replace(record, failure=None, failed=None)
        if record.failure and not came and not any(group.coming for group in self._pool.groups):
            # The machine on trial was never made.
            return replace(record, asked=None)
        return record

    def _state(self, node: ClusterNode, shape: PodShape) -> tuple[int | None, str]:
        """Return the state of a node that was made for a shape, and why the shape does not fit. The state is None while
        nothing can be concluded yet."""
        empty = not (node.work or node.moving or node.leaving)
        if node.health is NodeHealth.STARTING:
            late = node.since is not None and self._now - node.since > self._pool.pool.join
            return (NEVER_READY if late and empty else None), ""
        if not empty:
            return (USED if node.health is NodeHealth.READY else None), ""
        if node.health is NodeHealth.SILENT:
            return USELESS, "it does not answer"
        if node.cordon is CordonOrigin.OTHERS:
            return USELESS, "somebody has cordoned it"
        if node.cordon is CordonOrigin.OURS:
            return None, ""
        why = misfit(shape, node)
        return (USELESS if why else UNBOUND), why

    def _failed_to_start(self, record: Purchase, node: ClusterNode, came: Iterable[ClusterNode]) -> Purchase:
        """Return the record after a machine became a node and never became fit for pods. If no machine of the purchase
        became fit, the pool has failed for every shape."""
        words = f"{node.name} was made for this and is not fit for pods within {format_duration(self._pool.pool.join)}"
        failed = self._failed(record, WaitReason.NOT_READY, words)
        if failed.failure and self._pool.blocked is None and all(node.health is not NodeHealth.READY for node in came):
            self._pool.unfit = failed.failure.obstacle
        return failed

    def _failed(self, record: Purchase, reason: WaitReason, message: str) -> Purchase:
        failure = next_backoff(record.failure, Obstacle(reason, message), self._now, self._settings)
        return Purchase(failure=failure, failed=self._now)

    def _note(self, record: Purchase, failure: Backoff, shape: PodShape, idle: Mapping[str, datetime]) -> None:
        """Note what follows from a failure for its shape."""
        name = self._pool.name
        if self._now < failure.until:
            self._review.close(shape, name, skipped(failure, self._now))
        elif record.asked:
            words = f"{failure.obstacle}; it is asked for one machine, to try"
            self._review.close(shape, name, Obstacle(failure.obstacle.reason, words))
        else:
            self._review.trials.add((shape, name))
        for node in self._nodes:
            # The scheduler does not use nodes for this shape that have had no pods since its failure.
            if record.failed and idle.get(node.name, self._now) <= record.failed and not (node.work or node.moving):
                self._review.refusing[node.name] = self._review.refusing.get(node.name, frozenset()) | {shape}


def misfit(shape: PodShape, node: ClusterNode) -> str:
    """Return why a pod does not fit on a node that has only the pods that every node has; empty when it should fit."""
    why = mismatch(shape.where, node.kind, node.name)
    if why:
        return why
    for name, amount in shape.requests:
        free = max(0, node.free.get(name, absent_amount(name)))
        if free < amount:
            return f"it has {_part(name, free, amount)}"
    port = next((port for port in shape.ports if port in node.ports), "")
    return f"its port {port} is in use" if port else ""


def _part(name: str, free: int, amount: int) -> str:
    """Return an amount beside the requested one as text, such as ``7 of 8 nvidia.com/gpu``."""
    has, asks = quantity(name, free), quantity(name, amount)
    unit = asks.partition(" ")[2]
    if has.partition(" ")[2] == unit:
        return f"{has.partition(' ')[0]} of {asks}"
    return f"{has} of {asks}"
