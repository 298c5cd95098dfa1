"""Groups of pools: how many machines can be expected of them, and which have failed.

A group that cannot make the requested machines is set back to its existing ones, and its pool is skipped for a while.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from clouds.base.phrases import counted
from contract.documents.autoscaler_memory import Backoff, DecisionMemory
from contract.reasons.autoscaler import EndReason, Obstacle, WaitReason
from services.autoscaler.actions import ScalingAction, Verb
from services.autoscaler.settings import AutoscalerSettings
from services.autoscaler.shapes import Resources, SchedulingTaint
from services.autoscaler.snapshot import (
    ClusterNode,
    Failure,
    Health,
    ScalingGroup,
    ScalingPool,
    UnjoinedMachine,
)

CLOCKS = timedelta(minutes=1)
"""Largest difference between a cloud's clock and the API servers' that is assumed: a failure that is older than the
request by up to this time still belongs to it."""
LEARNED = ("memory", "ephemeral-storage")
"""Resources whose amount on nodes is more precise than the pool's declaration. Cores and devices are those of the
machine type: a node that has lost some, or claims more, says nothing about the next one."""
FEW = 3
"""Number of a pool's nodes from which on the lower median counts."""
LEAST_SHARE, MOST_SHARE = 0.85, 1.1
"""Bounds for the amounts that nodes report, as a share of the declared amount. The whole memory of a machine is at most
1.08 times the declared share (:data:`services.autoscaler.pools.SEEN_SHARE`)."""


class JudgedGroup:
    """A group, with what follows from its state."""

    def __init__(
        self,
        group: ScalingGroup,
        *,
        nodes: int,
        now: datetime,
        join: timedelta,
        expected: int = 0,
        since: datetime | None = None,
        lost: frozenset[str] = frozenset(),
    ) -> None:
        """``nodes`` is the number of its machines that are nodes and will stay. ``expected`` is the last known or
        requested number of its machines. ``since`` is the time since which it has lacked machines. ``lost`` are the ids
        of machines that were nodes before."""
        self.group, self.name = group, group.name
        self.late = tuple(
            machine for machine in group.unjoined if machine.made_at is not None and now - machine.made_at > join
        )
        """Machines that should have been nodes for long."""
        self.lost = sum(machine.id in lost for machine in self.late)
        """Number of those that were nodes: somebody may have deleted these, with work on the machines."""
        self.nodes = nodes
        self.size = group.wanted - len(group.refused)
        """Number of machines that it should have after this decision's first steps."""
        self.overdue = bool(group.error) and (since is None or now - since > join)
        """True when what it was asked for should be there by now, and its cloud does not tell."""
        if group.error:
            # Machines that were requested after the cloud's last answer will come all the same.
            self.size = max(self.size, nodes, expected)
        self.failed: Obstacle | None = None
        """Reason for which it has not made what it was asked for; None when it has, or still may."""

    @property
    def present(self) -> int:
        """Return the number of machines that exist or are expected."""
        return max(self.size, self.group.machines)

    @property
    def room(self) -> int:
        """Return the number of machines by which the group may still grow."""
        return 0 if self.group.error else max(0, self.group.max - self.present)

    @property
    def coming(self) -> int:
        """Return the number of machines that are expected to become nodes."""
        return 0 if self.overdue else max(0, self.present - self.nodes - len(self.late))


class JudgedPool:
    """A pool, with what follows from its state."""

    def __init__(self, pool: ScalingPool, groups: Sequence[JudgedGroup], *, capacity: Resources) -> None:
        self.pool, self.name, self.groups, self.capacity = pool, pool.name, groups, capacity
        self.taints = tuple(sorted(SchedulingTaint(*taint) for taint in pool.taints))
        self.blocked: Obstacle | None = None
        """Reason for which it is asked for nothing; None when it may be asked."""
        self.bought = 0
        """Number of machines that this decision asks for."""

    @property
    def is_frozen(self) -> bool:
        """Return whether its nodes are left alone: somebody else controls its size at the moment, or its cloud does not
        answer."""
        return self.pool.closed is not None or any(view.group.error for view in self.groups)

    @property
    def present(self) -> int:
        """Return the number of machines that exist or are expected."""
        return sum(group.present for group in self.groups)

    @property
    def room(self) -> int:
        """Return the number of machines by which the pool may still grow."""
        return 0 if self.blocked else max(0, self.pool.max - self.present)


@dataclass(frozen=True, kw_only=True)
class JudgedPools:
    """All pools, as input of one decision."""

    pools: dict[str, JudgedPool]
    actions: list[ScalingAction]
    asked: dict[str, datetime]
    backoff: dict[str, Backoff]
    learned: dict[str, Resources]
    lost: frozenset[str]


def judge(
    pools: Iterable[ScalingPool],
    nodes: Sequence[ClusterNode],
    memory: DecisionMemory,
    now: datetime,
    *,
    settings: AutoscalerSettings,
    were: frozenset[str],
) -> JudgedPools:
    """Return every pool with its expected machines, the groups to set back, and the new memory about them. ``were`` are
    the ids of machines that were nodes at the last decision."""
    strays = Counter(node.pool for node in nodes if node.pool and not node.group and not node.machine)
    # Machines that are being removed remain nodes for some minutes, but no group counts them.
    counts = Counter(node.group for node in nodes if node.group and node.counted)
    judged = JudgedPools(
        pools={},
        actions=[],
        asked={},
        backoff={},
        learned=_learned(nodes, memory),
        lost=_lost(pools, memory.lost | were),
    )
    for pool in sorted(pools, key=lambda candidate: candidate.name):
        groups = list(_views(pool, counts, strays[pool.name], memory=memory, lost=judged.lost, now=now))
        learned = _believed(pool, judged.learned.pop(pool.name, {}))
        if learned:
            judged.learned[pool.name] = learned
        capacity = {**pool.capacity, **learned}
        view = judged.pools[pool.name] = JudgedPool(pool, groups, capacity=capacity)
        for group in groups:
            since = _since(group, memory, now)
            if since is not None:
                judged.asked[group.name] = since
                group.failed = _failed(pool, group, since, memory, now)
        failure = _skipped(view, memory.backoff.get(pool.name), now, settings)
        if failure:
            judged.backoff[pool.name] = failure
            if now < failure.until:
                again = f"it is asked again in {format_duration(failure.until - now)}"
                view.blocked = Obstacle(failure.obstacle.reason, f"{failure.obstacle}; {again}")
                judged.actions.extend(filter(None, [_put_back(view, group, failure) for group in groups]))
        if pool.closed:
            view.blocked = pool.closed
        elif not view.is_frozen:
            judged.actions.extend(action for group in groups for action in _never_made(view, group))
    for name in judged.learned.keys() - judged.pools.keys():
        del judged.learned[name]
    return judged


def _views(
    pool: ScalingPool,
    counts: Mapping[str, int],
    strays: int,
    *,
    memory: DecisionMemory,
    lost: frozenset[str],
    now: datetime,
) -> Iterator[JudgedGroup]:
    """Yield a pool's groups. ``counts`` are the numbers of nodes by group; ``strays`` is the number of the pool's nodes
    that no group lists. A group without a current answer gets these, up to its remembered size."""
    for group in pool.groups:
        nodes, expected = counts.get(group.name, 0), memory.sizes.get(group.name, 0)
        unknown = min(strays, max(0, expected - nodes)) if group.error else 0
        strays -= unknown
        yield JudgedGroup(
            group,
            nodes=nodes + unknown,
            expected=expected,
            since=memory.asked.get(group.name),
            lost=lost,
            now=now,
            join=pool.join,
        )


def _lost(pools: Iterable[ScalingPool], known: frozenset[str]) -> frozenset[str]:
    """Return the ids of machines that are not nodes, but are ``known`` as former nodes."""
    return known & {machine.id for pool in pools for group in pool.groups for machine in group.unjoined}


def _learned(nodes: Iterable[ClusterNode], memory: DecisionMemory) -> dict[str, Resources]:
    """Return the amounts that ready nodes of each pool really have: with three or more nodes the lower median, so that
    a node that has lost memory, or lies, does not affect the next one; with fewer the minimum. Without ready nodes,
    return the remembered amounts."""
    alike: dict[str, Counter[tuple[tuple[str, int], ...]]] = {}
    for node in nodes:
        if node.pool and node.health is Health.READY and node.allocatable:
            alike.setdefault(node.pool, Counter())[tuple(node.allocatable.items())] += 1
    return {**memory.learned, **{pool: _typical(counts) for pool, counts in alike.items()}}


def _typical(counts: Counter[tuple[tuple[str, int], ...]]) -> Resources:
    """Return the typical amounts of a pool's nodes, from the number of nodes with equal amounts."""
    every = [(dict(amounts), count) for amounts, count in counts.items()]
    if len(every) == 1:
        return every[0][0]
    total = counts.total()
    skipped = (total - 1) // 2 if total >= FEW else 0
    return {
        name: _ranked(((capacity.get(name, 0), count) for capacity, count in every), skipped)
        for name in {*chain(*(capacity for capacity, _ in every))}
    }


def _ranked(amounts: Iterable[tuple[int, int]], skipped: int) -> int:
    """Return the smallest amount after the first ``skipped`` ones; each is given with its number."""
    for amount, count in sorted(amounts):
        skipped -= count
        if skipped < 0:
            return amount
    return 0


def _believed(pool: ScalingPool, learned: Resources) -> Resources:
    """Return the amounts of nodes that are accepted for the pool's next node: declared memory and storage within
    bounds, so that one bad node neither stops the pool's growth nor multiplies it, and all undeclared resources."""
    believed = {}
    for name, amount in learned.items():
        declared = pool.capacity.get(name)
        if declared is None:
            believed[name] = amount
        elif name in LEARNED:
            believed[name] = min(max(amount, int(LEAST_SHARE * declared)), int(MOST_SHARE * declared))
    return believed


def _since(view: JudgedGroup, memory: DecisionMemory, now: datetime) -> datetime | None:
    """Return the time since which a group has been asked for more machines than are nodes; None when it has not. While
    its cloud does not answer, return the remembered time."""
    if view.group.error:
        return memory.asked.get(view.name)
    return min(memory.asked.get(view.name, now), now) if view.group.wanted > view.nodes else None


def _failed(
    pool: ScalingPool, view: JudgedGroup, since: datetime, memory: DecisionMemory, now: datetime
) -> Obstacle | None:
    """Return why the group will not make the requested machines; None while it may, and while its cloud does not
    answer."""
    if view.group.error:
        return None
    # It is unknown when a size was raised that is observed for the first time.
    first = since if view.name in memory.asked else now - pool.join
    return _failure(pool, view, since, now, refused_since=first - CLOCKS)


def _failure(
    pool: ScalingPool, view: JudgedGroup, since: datetime, now: datetime, *, refused_since: datetime
) -> Obstacle | None:
    """Return why the group will not make the requested machines; None while it may. Refusals count from
    ``refused_since`` on, and older ones while the group has a refused machine."""
    group = view.group
    if group.wanted > group.machines:
        refused = _latest(failure for failure in group.failures if group.refused or failure.at >= refused_since)
        if refused:
            return refused
        if now - since > pool.join:
            missing = counted(group.wanted - group.machines, "machine")
            return Obstacle(WaitReason.NOT_MADE, f"{missing} not made within {format_duration(pool.join)}")
    if view.late and now - since > pool.join:
        late = counted(len(view.late), "machine")
        return Obstacle(WaitReason.NOT_JOINED, f"{late} not joined within {format_duration(pool.join)}")
    return None


def _latest(failures: Iterable[Failure]) -> Obstacle | None:
    """Return the reason of the latest failure; None when there is none."""
    latest = max(failures, key=lambda failure: (failure.at, failure.obstacle.message), default=None)
    return latest.obstacle if latest else None


def _never_made(pool: JudgedPool, view: JudgedGroup) -> Iterator[ScalingAction]:
    """Yield the end of each refused machine. Each is ended explicitly: a lower size alone could end a working
    machine."""
    cause = _latest(view.group.failures) or ""
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


def _skipped(view: JudgedPool, known: Backoff | None, now: datetime, settings: AutoscalerSettings) -> Backoff | None:
    """Return the record of a pool's failures; None when there is none."""
    if known and now < known.until:
        # After a jump of the clock, a pool is not skipped for longer than the maximum.
        return replace(known, until=min(known.until, now + settings.backoff_most))
    for group in view.groups:
        if group.failed:
            named = f"{group.name}: " if len(view.groups) > 1 else ""
            return next_backoff(known, Obstacle(group.failed.reason, f"{named}{group.failed}"), now, settings)
    return known if known and now < known.until + settings.backoff_most else None


def next_backoff(known: Backoff | None, obstacle: Obstacle, now: datetime, settings: AutoscalerSettings) -> Backoff:
    """Return the record of a pool that has just failed."""
    failures = known.failures + 1 if known else 1
    # Further doublings change nothing, and would overflow.
    wait = min(settings.backoff * 2 ** min(failures - 1, 10), settings.backoff_most)
    return Backoff(failures=failures, until=now + wait, obstacle=obstacle)


def _put_back(pool: JudgedPool, view: JudgedGroup, failure: Backoff) -> ScalingAction | None:
    """Return the action that lowers a failed group's size to its existing machines; None when nothing is to be done.
    The group may still try to reach its minimum."""
    group = view.group
    if group.error:
        return None
    view.size = min(view.size, group.machines)
    least = max(group.machines, group.min) + len(group.refused)
    if pool.pool.closed or group.wanted <= least:
        return None
    return ScalingAction(
        verb=Verb.SHRINK,
        target=group.name,
        pool=pool.name,
        was=group.wanted,
        size=least,
        reason=failure.obstacle.reason,
        message=f"{failure.obstacle}; back to what exists",
    )


def format_duration(time: timedelta) -> str:
    """Return a duration as a whole number above one in the largest possible unit, rounded up."""
    seconds = max(1, math.ceil(time.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{-(-seconds // 60)} min"


def unjoined(view: JudgedGroup) -> tuple[UnjoinedMachine, ...]:
    """Return the machines that have not become nodes in time, the oldest first."""
    return tuple(sorted(view.late, key=lambda machine: (str(machine.made_at), machine.id)))
