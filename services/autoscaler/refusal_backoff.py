"""Failures of groups. A group that cannot make the requested machines is lowered to the size of its existing machines,
and skipped for a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from clouds.base.phrases import counted
from contract.documents.autoscaler_memory import Backoff, DecisionMemory, backoff_key
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import (
    GroupFailure,
    ScalingPool,
)
from services.autoscaler.pool_outlook import GroupOutlook, PoolOutlook
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.time_limits import ScalingLimits

CLOCK_DIFFERENCE = timedelta(minutes=1)
"""Assumed largest difference between a cloud's clock and the API servers' clocks. A failure that is older than the
request by up to this time still belongs to the request."""


def lacking_since(view: GroupOutlook, memory: DecisionMemory, now: datetime) -> datetime | None:
    """Return the time since which a group has been asked for more machines than it has nodes; None when it has enough.
    While its cloud does not answer, return the remembered time."""
    if view.group.error:
        return memory.asked.get(view.name)
    return min(memory.asked.get(view.name, now), now) if view.group.wanted > view.nodes else None


def growth_failure(
    pool: ScalingPool, view: GroupOutlook, since: datetime, memory: DecisionMemory, now: datetime
) -> Obstacle | None:
    """Return why the group will not make the requested machines; None while it may, and while its cloud does not
    answer."""
    if view.group.error:
        return None
    # When a size is observed for the first time, the time of its increase is unknown.
    first = since if view.name in memory.asked else now - pool.join
    known = memory.backoff.get(backoff_key(pool.name, view.name, groups=len(pool.groups)))
    return _failure(pool, view, since, now, refused_since=first - CLOCK_DIFFERENCE, known=known)


def _failure(
    pool: ScalingPool,
    view: GroupOutlook,
    since: datetime,
    now: datetime,
    *,
    refused_since: datetime,
    known: Backoff | None,
) -> Obstacle | None:
    """Return why the group will not make the requested machines; None while it may. Refusals count from
    ``refused_since`` on, and older ones while the group has a refused machine. A machine that has not joined counts
    once: machines that were late before the end of the pause of ``known`` do not count again."""
    group = view.group
    if group.wanted > group.machines:
        refused = latest_failure(failure for failure in group.failures if group.refused or failure.at >= refused_since)
        if refused:
            return refused
        if now - since > pool.join:
            missing = counted(group.wanted - group.machines, "machine")
            return Obstacle(WaitReason.NOT_MADE, f"{missing} not made within {format_duration(pool.join)}")
    # Each machine has its own time: further ones may have been asked for since.
    late = [
        machine
        for machine in view.late
        if not (known and machine.made_at and machine.made_at + pool.join < known.until)
    ]
    if late:
        machines = counted(len(late), "machine")
        return Obstacle(WaitReason.NOT_JOINED, f"{machines} not joined within {format_duration(pool.join)}")
    return None


def latest_failure(failures: Iterable[GroupFailure]) -> Obstacle | None:
    """Return the reason of the latest failure; None when there is none."""
    latest = max(failures, key=lambda failure: (failure.at, failure.obstacle.message), default=None)
    return latest.obstacle if latest else None


def next_group_backoff(
    group: GroupOutlook | None, known: Backoff | None, now: datetime, settings: ScalingLimits
) -> Backoff | None:
    """Return the record of a group's failures, or of a whole pool's; None when there is none."""
    if known and now < known.until:
        # After a jump of the clock, a pool is not skipped for longer than the maximum.
        return replace(known, until=min(known.until, now + settings.longest_backoff))
    if group and group.failed:
        return next_backoff(known, group.failed, now, settings)
    return known if known and now < known.until + settings.longest_backoff else None


def next_backoff(known: Backoff | None, obstacle: Obstacle, now: datetime, settings: ScalingLimits) -> Backoff:
    """Return the record of a pool that has just failed."""
    failures = known.failures + 1 if known else 1
    # Further doublings change nothing, and would overflow.
    wait = min(settings.first_backoff * 2 ** min(failures - 1, 10), settings.longest_backoff)
    return Backoff(failures=failures, until=now + wait, obstacle=obstacle)


def skipped(failure: Backoff, now: datetime) -> Obstacle:
    """Return why a pool is skipped."""
    again = f"it is asked again in {format_duration(failure.until - now)}"
    return Obstacle(failure.obstacle.reason, f"{failure.obstacle}; {again}")


def shrink_to_present(
    pool: PoolOutlook, view: GroupOutlook, failure: Backoff, *, unlisted: int
) -> ScalingAction | None:
    """Return the action that lowers a failed group's size to its existing machines; None when nothing is to be done.
    The group may still try to reach its minimum. ``unlisted`` is the number of the pool's nodes that no group lists.
    They count as existing machines, and so do the group's machines without a node that its list lacks; otherwise the
    cloud would choose machines to end."""
    group = view.group
    if group.error:
        return None
    there = group.machines + unlisted + view.unlisted
    view.size = min(view.size, there)
    least = max(there, group.min) + len(group.refused)
    if pool.pool.closed or group.wanted <= least:
        return None
    return ScalingAction(
        verb=Verb.SHRINK,
        target=group.name,
        pool=pool.name,
        was=group.wanted,
        size=least,
        reason=failure.obstacle.reason,
        message=f"{failure.obstacle}; set back to the existing machines",
    )


def format_duration(time: timedelta) -> str:
    """Return a duration as text, rounded up: in seconds below two minutes, otherwise in minutes."""
    seconds = max(1, math.ceil(time.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{-(-seconds // 60)} min"
