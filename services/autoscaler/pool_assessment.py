"""The state of all pools, as input of one decision: expected machines, failures, and what was learned from nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from clouds.base.phrases import counted
from contract.documents.autoscaler_memory import Backoff, DecisionMemory, backoff_key, machine_key, split_machine_key
from contract.kubernetes.quantities import Resources
from contract.reasons.autoscaler import EndReason, KeepReason, Obstacle
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ScalingPool,
)
from services.autoscaler.learned_capacity import accepted_capacity, learned_capacity
from services.autoscaler.pool_outlook import GroupOutlook, PoolOutlook
from services.autoscaler.refusal_backoff import (
    growth_failure,
    lacking_since,
    latest_failure,
    next_backoff,
    next_group_backoff,
    shrink_to_present,
    skipped,
)
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.time_limits import ScalingLimits
from services.autoscaler.unfit_times import dated_machines, unlisted_machines


@dataclass(frozen=True, kw_only=True)
class PoolAssessment:
    """All pools, as input of one decision."""

    pools: dict[str, PoolOutlook]
    actions: list[ScalingAction]
    asked: dict[str, datetime]
    backoff: dict[str, Backoff]
    learned: dict[str, Resources]
    lost: frozenset[str]
    joining: dict[str, datetime]
    """Times since which machines have been without a node, by their keys."""
    unlisted: dict[str, datetime]
    """Times since which machines without a node are missing from their groups' lists, by the machines' keys."""

    def note_failures(
        self, view: PoolOutlook, memory: DecisionMemory, now: datetime, *, settings: ScalingLimits, unlisted: int
    ) -> None:
        """Skip the groups of a pool that failed, and lower their sizes to their existing machines. Another group of the
        pool may have the machines that one group refuses."""
        several = len(view.groups) > 1
        for group in view.groups:
            key = backoff_key(view.name, group.name, groups=len(view.groups))
            failure = next_group_backoff(group, memory.backoff.get(key), now, settings)
            if failure:
                self.backoff[key] = failure
                if now < failure.until:
                    obstacle = skipped(failure, now)
                    words = f"{group.name}: {obstacle}" if several else obstacle.message
                    group.blocked = Obstacle(obstacle.reason, words)
                    shrink = shrink_to_present(view, group, failure, unlisted=unlisted)
                    self.actions.extend([shrink] if shrink else [])
        whole = next_group_backoff(None, memory.backoff.get(view.name), now, settings) if several else None
        if whole:
            self.backoff[view.name] = whole
            view.blocked = skipped(whole, now) if now < whole.until else None

    def skip_unfit(self, now: datetime, settings: ScalingLimits) -> None:
        """Skip the pools whose last machines became nodes but never became fit for pods."""
        for name, view in self.pools.items():
            if view.unfit:
                failure = self.backoff[name] = next_backoff(self.backoff.get(name), view.unfit, now, settings)
                view.blocked = skipped(failure, now)


def assess_pools(
    pools: Iterable[ScalingPool],
    nodes: Sequence[ClusterNode],
    memory: DecisionMemory,
    now: datetime,
    *,
    settings: ScalingLimits,
    former_nodes: frozenset[str],
) -> PoolAssessment:
    """Return every pool with its expected machines, the actions on its groups, and the new memory about the groups.
    ``former_nodes`` are the keys of the machines that were nodes at the last decision."""
    strays = Counter(node.pool for node in nodes if node.pool and not node.group and not node.machine)
    pools, joining = dated_machines(pools, memory.joining, memory.asked, memory.lost | former_nodes, now)
    unlisted = unlisted_machines(pools, {*memory.joining, *memory.lost}, nodes, memory.unlisted, now)
    short = Counter(split_machine_key(key)[0] for key in unlisted)
    # Machines that are being removed remain nodes for some minutes, but no group counts them.
    counts = Counter(node.group for node in nodes if node.group and node.counted)
    judged = PoolAssessment(
        pools={},
        actions=[],
        asked={},
        backoff={},
        learned=learned_capacity(nodes, memory),
        lost=_lost(pools, memory.lost | former_nodes) | (memory.lost & unlisted.keys()),
        joining={**{key: memory.joining.get(key, now) for key in unlisted}, **joining},
        unlisted=unlisted,
    )
    for pool in sorted(pools, key=lambda candidate: candidate.name):
        groups = list(_views(pool, counts, strays[pool.name], short, memory=memory, lost=judged.lost, now=now))
        learned = accepted_capacity(pool, judged.learned.pop(pool.name, {}))
        if learned:
            judged.learned[pool.name] = learned
        capacity = {**pool.capacity, **learned}
        view = judged.pools[pool.name] = PoolOutlook(pool, groups, capacity=capacity)
        for group in groups:
            since = lacking_since(group, memory, now)
            if since is not None:
                judged.asked[group.name] = since
                group.failed = growth_failure(pool, group, since, memory, now)
        judged.note_failures(view, memory, now, settings=settings, unlisted=strays[pool.name])
        if pool.closed:
            view.blocked = pool.closed
        elif not view.is_frozen:
            judged.actions.extend(filter(None, (_set_by_hand(group, memory) for group in groups)))
            judged.actions.extend(action for group in groups for action in _never_made(view, group))
    for name in judged.learned.keys() - judged.pools.keys():
        del judged.learned[name]
    return judged


def _views(
    pool: ScalingPool,
    counts: Mapping[str, int],
    strays: int,
    short: Mapping[str, int],
    *,
    memory: DecisionMemory,
    lost: frozenset[str],
    now: datetime,
) -> Iterator[GroupOutlook]:
    """Yield a pool's groups. ``counts`` are the numbers of nodes by group; ``strays`` is the number of the pool's nodes
    that no group lists. A group without a current answer gets such nodes, up to its remembered size. ``short`` are the
    numbers of machines without a node that the groups' lists lack."""
    for group in pool.groups:
        nodes, expected = counts.get(group.name, 0), memory.sizes.get(group.name, 0)
        unknown = min(strays, max(0, expected - nodes)) if group.error else 0
        strays -= unknown
        yield GroupOutlook(
            group,
            nodes=nodes + unknown,
            expected=expected,
            since=memory.asked.get(group.name),
            lost=lost,
            unlisted=short.get(group.name, 0),
            now=now,
            join=pool.join,
        )


def _lost(pools: Iterable[ScalingPool], known: frozenset[str]) -> frozenset[str]:
    """Return the keys of machines that are not nodes, but are ``known`` as former nodes."""
    return known & {
        machine_key(group.name, machine.id) for pool in pools for group in pool.groups for machine in group.unjoined
    }


def _set_by_hand(view: GroupOutlook, memory: DecisionMemory) -> ScalingAction | None:
    """Return the message about a size or a minimum size that somebody else set; None when nobody did."""
    group, known = view.group, memory.sizes.get(view.name)
    size = group.wanted - len(group.refused)
    if group.min_by_hand:
        message = (
            f"its cloud keeps at least {counted(group.min, 'machine')}: somebody else set this, it is not declared"
        )
        return ScalingAction(verb=Verb.HOLD, target=view.name, reason=KeepReason.MIN_SET_BY_HAND, message=message)
    if known is not None and size > known and not view.blocked:
        message = f"its size is {size} and was {known}: somebody else set it"
        return ScalingAction(verb=Verb.HOLD, target=view.name, reason=KeepReason.SIZE_SET_BY_HAND, message=message)
    return None


def _never_made(pool: PoolOutlook, view: GroupOutlook) -> Iterator[ScalingAction]:
    """Yield the end of each refused machine. Each is ended explicitly: a lower size alone could end a working
    machine."""
    cause = latest_failure(view.group.failures) or ""
    for machine in sorted(view.group.refused):
        yield ScalingAction(
            verb=Verb.END,
            target=machine,
            machine=machine,
            group=view.name,
            pool=pool.name,
            reason=EndReason.NEVER_MADE,
            message=f"it was never made: {cause}",
        )
