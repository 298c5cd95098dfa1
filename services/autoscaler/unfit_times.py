"""Times since which nodes have not been fit for pods, and since which machines have been without a node.

Ages do not show these times: a node that is days old may have got a taint a second ago, and a cloud's clock may be
behind the API servers' clocks. If no other time is known, the time of the first pass that observes the condition
counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from contract.documents.autoscaler_memory import machine_key, split_machine_key
from services.autoscaler.cluster_snapshot import ClusterNode, NodeHealth, ScalingGroup, ScalingPool, UnjoinedMachine
from services.autoscaler.refusal_backoff import CLOCK_DIFFERENCE

SHORT = timedelta(minutes=10)
"""Time after which a machine that its group's list lacks counts as ended. Lists may be incomplete for a while."""
NEW = timedelta(minutes=2)
"""Age up to which a node that is not fit for pods counts as never having been fit: passes follow each other within
seconds."""


def dated_nodes(nodes: Iterable[ClusterNode], known: Mapping[str, datetime], now: datetime) -> Iterator[ClusterNode]:
    """Yield the nodes. Nodes that are starting get the time since which they have not been fit for pods; for a node
    that was never fit, this is the time of its registration. ``known`` are the remembered times."""
    for node in nodes:
        if node.health is not NodeHealth.STARTING:
            yield node
            continue
        remembered = known.get(node.name)
        if remembered and node.made and remembered < node.made <= now:
            # An earlier node had this name. Times of registration after now are ignored: a clock was ahead then.
            remembered = None
        fresh = node.made if node.made and now - node.made <= NEW else now
        yield replace(node, since=min(remembered or node.since or fresh, now))


def was_never_fit(node: ClusterNode) -> bool:
    """Return whether a node has never been fit for pods."""
    if node.health is not NodeHealth.STARTING or node.made is None or node.since is None:
        return False
    return node.since <= node.made


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
    """Return the pools, whose machines without a node get the time since which they are without one, and these times by
    the machines' keys. The cloud's time of a machine's creation counts if it is not older than the request for the
    machine. ``asked`` are the times since which groups have been asked for machines; ``former`` are machines that were
    nodes."""
    times: dict[str, datetime] = {}

    def dated(group: ScalingGroup) -> ScalingGroup:
        first = asked.get(group.name)
        machines = []
        for machine in group.unjoined:
            key = machine_key(group.name, machine.id)
            made_at = None if key in former else _made(machine, first)
            times[key] = min(known.get(key) or made_at or now, now)
            machines.append(replace(machine, made_at=times[key]))
        return replace(group, unjoined=tuple(machines)) if machines else group

    return [replace(pool, groups=tuple(map(dated, pool.groups))) for pool in pools], times


def unlisted_machines(
    pools: Iterable[ScalingPool],
    without_node: Iterable[str],
    nodes: Iterable[ClusterNode],
    known: Mapping[str, datetime],
    now: datetime,
) -> dict[str, datetime]:
    """Return the machines that were without a node and are missing from their group's list: their keys, with the time
    since which they are missing. Machines that have been missing for :data:`SHORT` are left out, since they have ended,
    unless the group has no current answer. If a group reports at least as many machines that are being removed as are
    missing, the missing ones are left out too. ``known`` are the remembered times."""
    joined = {machine_key(node.group, node.machine) for node in nodes if node.machine}
    missing: dict[str, dict[str, str]] = {}
    """Keys of machines, by their groups and ids."""
    for key in without_node:
        if key not in joined:
            group_name, id_ = split_machine_key(key)
            missing.setdefault(group_name, {})[id_] = key
    times = {}
    for group in (group for pool in pools for group in pool.groups):
        listed = {*group.refused, *(machine.id for machine in group.unjoined)}
        absent = [key for id_, key in missing.get(group.name, {}).items() if id_ not in listed]
        if len(absent) > group.leaving:
            for key in absent:
                since = min(known.get(key, now), now)
                if group.error or now - since < SHORT:
                    times[key] = since
    return times


def _made(machine: UnjoinedMachine, asked: datetime | None) -> datetime | None:
    """Return the time at which the cloud made a machine; None when it is unknown, or older than the request for the
    machine."""
    if machine.made_at is None:
        return None
    return machine.made_at if asked is None or machine.made_at >= asked - CLOCK_DIFFERENCE else None
