"""Since when nodes have not been fit for pods, and machines have been without a node.

The age of neither says it: a node of some days may have got a taint a second ago, and the clock of a cloud may be
behind that of the API servers. Where nothing tells the time, the first pass that observes it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from services.autoscaler.cluster_snapshot import ClusterNode, NodeHealth, ScalingGroup, ScalingPool, UnjoinedMachine
from services.autoscaler.refusal_backoff import CLOCK_DIFFERENCE

NEW = timedelta(minutes=2)
"""Age up to which a node that is not fit for pods never was: passes follow each other within seconds."""


def dated_nodes(nodes: Iterable[ClusterNode], known: Mapping[str, datetime], now: datetime) -> Iterator[ClusterNode]:
    """Yield the nodes, those that are starting with the time since which they are not fit for pods: that of their
    registration when they never were. ``known`` are the remembered times."""
    for node in nodes:
        if node.health is not NodeHealth.STARTING:
            yield node
            continue
        remembered = known.get(node.name)
        if remembered and node.made and remembered < node.made:
            # Another node had this name.
            remembered = None
        fresh = node.made if node.made and now - node.made <= NEW else now
        yield replace(node, since=min(remembered or node.since or fresh, now))


def was_never_fit(node: ClusterNode) -> bool:
    """Return whether a node has never been fit for pods."""
    return node.health is NodeHealth.STARTING and node.made is not None and node.since == node.made


def is_stuck(node: ClusterNode, join: timedelta, now: datetime) -> bool:
    """Return whether a node has been starting for longer than its pool allows."""
    return node.health is NodeHealth.STARTING and node.since is not None and now - node.since > join


def dated_machines(
    pools: Iterable[ScalingPool],
    known: Mapping[str, datetime],
    asked: Mapping[str, datetime],
    former: frozenset[str],
    now: datetime,
) -> tuple[list[ScalingPool], dict[str, datetime]]:
    """Return the pools, their machines without a node with the time since which they are, and all these times. A
    machine's own time counts if it is not older than the request for it. ``asked`` are the times since which groups
    have been asked for machines; ``former`` are ids of machines that were nodes."""
    times: dict[str, datetime] = {}

    def dated(group: ScalingGroup) -> ScalingGroup:
        first = asked.get(group.name)
        for machine in group.unjoined:
            times[machine.id] = min(known.get(machine.id) or _made(machine, first, former) or now, now)
        machines = tuple(UnjoinedMachine(id=machine.id, made_at=times[machine.id]) for machine in group.unjoined)
        return replace(group, unjoined=machines) if machines else group

    return [replace(pool, groups=tuple(map(dated, pool.groups))) for pool in pools], times


def _made(machine: UnjoinedMachine, asked: datetime | None, former: frozenset[str]) -> datetime | None:
    """Return the time that a cloud tells of a machine; None when it says nothing of how long it is without a node."""
    if machine.made_at is None or machine.id in former:
        return None
    return machine.made_at if asked is None or machine.made_at >= asked - CLOCK_DIFFERENCE else None
