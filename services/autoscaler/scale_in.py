"""Removes nodes that nobody needs: they are cordoned in one pass, drained within disruption budgets, and ended in a
later one. Dead nodes are removed in the same way, but only while they are few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from clouds.base.phrases import counted
from contract.reasons.autoscaler import AutoscalerReason, EndReason, KeepReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, NodeHealth
from services.autoscaler.free_capacity import NodeRoom
from services.autoscaler.placement import Placer
from services.autoscaler.pool_outlook import PoolOutlook, unjoined
from services.autoscaler.pool_removals import PoolRemovals, is_leaving, limit_removals
from services.autoscaler.refusal_backoff import format_duration
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.time_limits import ScalingLimits
from services.autoscaler.unfit_times import is_stuck, was_never_fit

UNTOUCHED = (KeepReason.POOL_FROZEN, KeepReason.TOO_MANY_DEAD, KeepReason.MACHINE_UNKNOWN)
"""Reasons why a node stays as it is, including its cordon."""


class ScaleIn:
    """One pass over all nodes."""

    def __init__(
        self,
        pools: Mapping[str, PoolOutlook],
        rooms: Mapping[str, NodeRoom],
        *,
        ledger: CapacityLedger,
        placer: Placer,
        settings: ScalingLimits,
        now: datetime,
    ) -> None:
        """``rooms`` are the nodes' rooms by name, after all demand was placed."""
        self._rooms, self._ledger, self._placer = rooms, ledger, placer
        self._settings, self._now = settings, now
        self._pools = {name: PoolRemovals(view=view, now=now) for name, view in pools.items() if view.groups}
        self.actions: list[ScalingAction] = []
        self.idle: dict[str, datetime] = {}
        self.kept: dict[str, KeepReason] = {}
        """Reasons why idle nodes stay, by name."""

    def run(self, nodes: Sequence[ClusterNode], idle: Mapping[str, datetime]) -> None:
        """Decide on every node, in this order. ``idle`` are the times since which nodes have been idle, from the last
        pass."""
        for node in nodes:
            if node.pool in self._pools:
                self._pools[node.pool].add(node)
            elif node.cordon is CordonOrigin.OURS and self._needed(node):
                self._uncordon(node)
        self.actions += limit_removals(self._pools.values(), self._settings.removable_share)
        idling = [(node, pool) for pool in self._pools.values() for node in pool.nodes if self._is_idle(node)]
        for node, _ in idling:
            self.idle[node.name] = min(idle.get(node.name, self._now), self._now)
        for pool in self._pools.values():
            for node in pool.cordoned:
                self._uncordon_needed(node, pool)
        for node, pool in sorted(idling, key=self._removal_order):
            self._remove(node, pool, self.idle[node.name])
        for pool in self._pools.values():
            self._end_dead_nodes(pool)

    def _removal_order(self, candidate: tuple[ClusterNode, PoolRemovals]) -> tuple[bool, datetime, str]:
        """Return a sort key: nodes that are being removed first, then those that have been idle longest."""
        node = candidate[0]
        return node.cordon is not CordonOrigin.OURS, self.idle[node.name], node.name

    def _uncordon_needed(self, node: ClusterNode, pool: PoolRemovals) -> None:
        """Remove our cordon from a node that is needed, or on which somebody works."""
        left_alone = node.keep or node.name in self.idle
        if not left_alone and not pool.view.is_frozen and (node.work or self._needed(node)):
            self._uncordon(node)

    def _needed(self, node: ClusterNode) -> bool:
        """Return whether pods were placed on a node, or it is kept as a spare."""
        room = self._rooms.get(node.name)
        return room is not None and (room.taken > 0 or room.spare or (room.later is not None and room.later.taken > 0))

    def _hold(self, target: str, reason: KeepReason, message: str) -> None:
        self.actions.append(ScalingAction(verb=Verb.HOLD, target=target, reason=reason, message=message))

    def _is_idle(self, node: ClusterNode) -> bool:
        """Return whether a ready node has no work, no pod waits for it, and nobody wants it kept."""
        left_alone = node.keep or node.cordon is CordonOrigin.OTHERS
        busy = node.work or left_alone or node.health is not NodeHealth.READY
        return not busy and not self._needed(node)

    def _remove(self, node: ClusterNode, pool: PoolRemovals, since: datetime) -> None:
        """Take the next step towards the removal of an idle node, or record why it stays."""
        reason = self._keep_reason(node, pool, since)
        if reason is not None:
            self.kept[node.name] = reason
            if reason not in UNTOUCHED:
                self._stay(node, reason)
        elif node.cordon is CordonOrigin.OURS:
            self._empty_or_end(node)
        else:
            pool.slots, pool.late = pool.slots - 1, pool.late - 1
            pool.spare[node.group] -= 1
            message = f"nobody has worked on it for {format_duration(self._now - since)}"
            self._act(Verb.CORDON, node, EndReason.UNDERUSED if node.moving else EndReason.EMPTY, message)

    def _keep_reason(self, node: ClusterNode, pool: PoolRemovals, since: datetime) -> KeepReason | None:
        """Return why an idle node stays; None when it may be removed. Then its pods are placed on other nodes."""
        ours = node.cordon is CordonOrigin.OURS
        if pool.view.is_frozen:
            return KeepReason.POOL_FROZEN
        if self._needed(node):
            # Pods from another node were placed here meanwhile.
            return KeepReason.PODS_WAIT
        if ours and (pool.total < pool.view.pool.min or pool.spare.get(node.group, 0) < 0):
            # The minimum of the pool, or of its group at the cloud, was raised.
            return KeepReason.POOL_AT_MIN
        if pool.paused:
            return KeepReason.TOO_MANY_DEAD
        if ours and self._is_stuck(node):
            return KeepReason.PODS_STAY
        if not node.machine:
            return KeepReason.MACHINE_UNKNOWN
        reason = None if ours else self._cordon_obstacle(node, pool, since)
        if reason is not None:
            return reason
        return None if self._move_pods(node) else KeepReason.NO_ROOM_ELSEWHERE

    def _cordon_obstacle(self, node: ClusterNode, pool: PoolRemovals, since: datetime) -> KeepReason | None:
        """Return why an idle node is not cordoned now; None when it may be. A node that cannot be drained now would
        block others."""
        if node.leaving:
            return KeepReason.PODS_LEAVING
        if any(pod.block_reason for pod in node.moving):
            return KeepReason.DISRUPTION_BUDGET
        if self._now - since < pool.view.pool.idle:
            return KeepReason.IDLE_BRIEFLY
        if pool.late <= 0:
            return KeepReason.TOO_MANY_LEAVING
        return KeepReason.POOL_AT_MIN if pool.slots <= 0 or pool.spare.get(node.group, 0) <= 0 else None

    def _is_stuck(self, node: ClusterNode) -> bool:
        """Return whether a node that is being removed was not drained in time, or its cordon has no known time."""
        late = node.cordoned_at is None or self._now - node.cordoned_at > self._settings.drain_time
        return late and (node.cordoned_at is None or bool(node.moving or node.leaving))

    def _stay(self, node: ClusterNode, reason: KeepReason | None = None) -> None:
        """Let a node stay, and restart its idle time."""
        if node.cordon is CordonOrigin.OURS:
            self.idle.pop(node.name)
            self._uncordon(node, reason)

    def _move_pods(self, node: ClusterNode) -> bool:
        """Place a node's movable pods on other nodes. Return False, and place none, when one of them has no room."""
        needs = [
            (pod, self._ledger.needs.of(pod.shape, (pod.namespace, pod.labels)))
            for pod in sorted(node.moving, key=lambda candidate: candidate.id)
        ]
        room = self._rooms.get(node.name)
        checkpoint = self._ledger.checkpoint()
        if room is not None:
            room.closed = True
            # For spreadings, the node remains a host, without these pods, until it is gone.
            for _, need in needs:
                self._ledger.uncount(room, need)
        for pod, need in needs:
            if pod.shape.unknown or self._placer.move(need) is None:
                self._ledger.undo_to(checkpoint)
                if room is not None:
                    room.closed = False
                return False
        return True

    def _empty_or_end(self, node: ClusterNode) -> None:
        """Drain a cordoned node, or end its machine."""
        if node.cordoned_at is None or self._now - node.cordoned_at < self._settings.cordon_time:
            return
        if node.moving:
            self._drain(node)
        elif not node.leaving:
            self._end(node, EndReason.EMPTY, "it is cordoned and empty")

    def _drain(self, node: ClusterNode) -> None:
        free = tuple(sorted(pod.id for pod in node.moving if not pod.block_reason))
        blocked = "; ".join(sorted(f"{pod.id}: {pod.block_reason}" for pod in node.moving if pod.block_reason))
        if free:
            message = f"{counted(len(free), 'pod')} with room elsewhere" + (f"; not yet: {blocked}" if blocked else "")
            self.actions.append(
                ScalingAction(
                    verb=Verb.DRAIN,
                    target=node.name,
                    pool=node.pool,
                    pods=free,
                    reason=EndReason.UNDERUSED,
                    message=message,
                )
            )
        else:
            self._hold(node.name, KeepReason.DISRUPTION_BUDGET, f"its pods may not leave yet: {blocked}")

    def _end_dead_nodes(self, pool: PoolRemovals) -> None:
        """End the dead machines of a pool: nodes that have not answered for long and have no work, nodes that never
        became fit for pods, and machines that never became nodes."""
        if pool.paused:
            return
        room = max(0, pool.slots)
        for node in [node for node in pool.unready if self._is_dead(node, pool)]:
            going = is_leaving(node)
            if not (going or (room and pool.spare.get(node.group, 0) > 0)):
                continue
            if not going:
                room, pool.late = room - 1, pool.late - 1
                pool.spare[node.group] -= 1
            silent = format_duration(self._now - node.since) if node.since else ""
            self._end(node, EndReason.NODE_DEAD, f"it has not been ready for {silent}, and no work is on it")
        for node in pool.unready:
            if pool.late > 0 and self._never_got_ready(node, pool):
                pool.late -= 1
                message = f"it is not fit for pods within {format_duration(pool.view.pool.join)}, and no work is on it"
                self._end(node, EndReason.NEVER_READY, message)
        for group in pool.view.groups:
            for machine in unjoined(group):
                if pool.late <= 0:
                    break
                pool.late -= 1
                self.actions.append(
                    ScalingAction(
                        verb=Verb.END,
                        target=machine.id,
                        machine=machine.id,
                        group=group.name,
                        pool=pool.view.name,
                        reason=EndReason.NEVER_JOINED,
                        message=f"it has not become a node within {format_duration(pool.view.pool.join)}",
                    )
                )

    def _is_dead(self, node: ClusterNode, pool: PoolRemovals) -> bool:
        if node.since is None or not pool.looks_dead(node):
            return False
        return self._may_end(node) and self._now - node.since >= self._settings.dead_after

    def _never_got_ready(self, node: ClusterNode, pool: PoolRemovals) -> bool:
        stuck = was_never_fit(node) and is_stuck(node, pool.view.pool.join, self._now)
        return stuck and not node.moving and self._may_end(node)

    @staticmethod
    def _may_end(node: ClusterNode) -> bool:
        kept = node.keep or node.work or node.leaving or node.cordon is CordonOrigin.OTHERS
        return bool(node.machine) and not kept

    def _end(self, node: ClusterNode, reason: EndReason, message: str) -> None:
        self.actions.append(
            ScalingAction(
                verb=Verb.END,
                target=node.name,
                machine=node.machine,
                group=node.group,
                pool=node.pool,
                reason=reason,
                message=message,
            )
        )

    def _uncordon(self, node: ClusterNode, reason: KeepReason | None = None) -> None:
        """Uncordon a node. Without a ``reason``, determine the reason."""
        room = self._rooms.get(node.name)
        if room is not None and room.spare:
            reason = KeepReason.SPARE
        elif reason is None and self._needed(node):
            reason = KeepReason.PODS_WAIT
        elif reason is None:
            reason = KeepReason.POD_AT_WORK if node.work else KeepReason.NO_ROOM_ELSEWHERE
        messages = {
            KeepReason.SPARE: "it is one of its pool's spare nodes",
            KeepReason.PODS_STAY: f"its pods have not left within {format_duration(self._settings.drain_time)}",
            KeepReason.PODS_WAIT: "pods that wait have room on it",
            KeepReason.POD_AT_WORK: f"{counted(node.work, 'pod')} at work on it",
            KeepReason.POOL_AT_MIN: "its pool has no more machines than it should always have",
            KeepReason.NO_ROOM_ELSEWHERE: "its pods have no room elsewhere",
        }
        self._act(Verb.UNCORDON, node, reason, messages[reason])

    def _act(self, verb: Verb, node: ClusterNode, reason: AutoscalerReason, message: str) -> None:
        self.actions.append(ScalingAction(verb=verb, target=node.name, pool=node.pool, reason=reason, message=message))
