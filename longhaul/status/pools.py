"""Judges pools: how many machines were requested, how many the clouds have, and how many joined. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from clouds.base.live_groups import Life, LiveMachine
from clouds.base.phrases import counted
from components.model.nodes.host_nodes import HOSTS
from contract.kubernetes.times import parse_time
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.fleet import NodeStatus
from longhaul.status.observed import Observed, ReportedGroups

if TYPE_CHECKING:
    from components.model import Environment

JOIN = timedelta(minutes=15)
"""Age up to which a machine may still be booting. Machines with eight GPUs take minutes before their operating system
starts; a roll waits even longer before it gives a machine up (``--within``)."""


@dataclass(frozen=True, kw_only=True)
class PoolStatus:
    """The nodes of one pool, or all hosts."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    ready: int
    least: int
    """Number of nodes that the pool must have."""
    wanted: int | None = None
    """Number of machines that its groups should have; None for hosts, and when the cloud did not report it."""
    machines: int | None = None
    """Number of machines in its groups, without machines that are being removed; None in the same cases as
    ``wanted``."""


def judge_pools(environment: Environment, observed: Observed) -> tuple[PoolStatus, ...]:
    """Judge every pool, and all hosts as one pool."""
    unjoined = judge_unjoined(environment, observed)
    statuses = [_pool(name, pool.min, observed, unjoined) for name, pool in environment.pools.items()]
    if environment.hosts:
        statuses.append(_pool(HOSTS, len(environment.hosts), observed, unjoined))
    return tuple(statuses)


def _pool(name: str, least: int, observed: Observed, unjoined: tuple[NodeStatus, ...]) -> PoolStatus:
    if observed.cluster.error:
        return PoolStatus(
            name=name,
            verdict=StatusVerdict.UNKNOWN,
            reason=StatusReason.NOT_OBSERVED,
            message=observed.cluster.error,
            ready=0,
            least=least,
        )
    mine = [view for view in observed.cluster.nodes if view.pool == name]
    ready = sum(map(observed.cluster.is_ready, mine))
    group = observed.groups.get(name)
    if group is None or group.error:
        blind = f"; its machines are not known: {group.error}" if group else ""
        return PoolStatus(
            name=name,
            verdict=StatusVerdict.OK if ready >= least else _less(ready),
            reason=StatusReason.READY if ready >= least else StatusReason.TOO_FEW_NODES,
            message=f"{ready} of {len(mine)} nodes ready, at least {least}{blind}",
            ready=ready,
            least=least,
        )
    machines = sum(machine.life is not Life.LEAVING for machine in group.machines)
    verdicts = [node.verdict for node in unjoined if node.pool == name]
    lost, joining = verdicts.count(StatusVerdict.MISSING), verdicts.count(StatusVerdict.JOINING)
    short = max(0, group.wanted - machines)
    parts = (
        f"{ready} ready of {counted(max(group.wanted, machines), 'machine')}, at least {least}",
        f"{lost} not joined" if lost else "",
        f"{joining} joining" if joining else "",
        f"{short} not made by the cloud" if short else "",
    )
    causes = {
        StatusReason.TOO_FEW_NODES: ready < least,
        StatusReason.MACHINES_NOT_JOINED: lost,
        StatusReason.MACHINES_NOT_MADE: short,
    }
    reason = next((cause for cause, holds in causes.items() if holds), StatusReason.READY)
    return PoolStatus(
        name=name,
        verdict=StatusVerdict.OK if reason is StatusReason.READY else _less(ready),
        reason=reason,
        message="; ".join(filter(None, parts)),
        ready=ready,
        least=least,
        wanted=group.wanted,
        machines=machines,
    )


def _less(ready: int) -> StatusVerdict:
    return StatusVerdict.DEGRADED if ready else StatusVerdict.DOWN


def judge_unjoined(environment: Environment, observed: Observed) -> tuple[NodeStatus, ...]:
    """Judge every machine of a pool's groups that is not a node. Return nothing when the API did not answer."""
    return () if observed.cluster.error else tuple(_unjoined(environment, observed))


def _unjoined(environment: Environment, observed: Observed) -> Iterator[NodeStatus]:
    there = {view.name for view in observed.cluster.nodes}
    for name, group in observed.groups.items():
        for machine in group.machines:
            if machine.life is not Life.LEAVING and machine.node not in there:
                verdict, reason, message = _judge(machine, group, observed)
                yield NodeStatus(
                    name=machine.node,
                    site=environment.pools[name].site,
                    pool=name,
                    verdict=verdict,
                    reason=reason,
                    message=message,
                    created=group.made.get(machine.node, ""),
                )


def _judge(machine: LiveMachine, group: ReportedGroups, observed: Observed) -> tuple[StatusVerdict, StatusReason, str]:
    console = group.consoles.get(machine.node, "")
    shows = f"; its own output: `{console}`" if console else ""
    word = re.compile(rf"(?<![\w.-]){re.escape(machine.node)}(?![\w-])")
    refusal = next((line for line in observed.cluster.refusals if word.search(line)), "")
    if refusal:
        message = f"it has not joined, and was refused: {refusal.partition(': ')[2]}{shows}"
        return StatusVerdict.MISSING, StatusReason.JOIN_REFUSED, message
    if machine.life is Life.CHANGING:
        return StatusVerdict.JOINING, StatusReason.BEING_MADE, "the cloud is making it"
    made = parse_time(group.made.get(machine.node, ""))
    if made is not None and observed.now - made < JOIN:
        return StatusVerdict.JOINING, StatusReason.JOINING, "it is in the cloud, and has not joined yet"
    return StatusVerdict.MISSING, StatusReason.NOT_JOINED, f"it has not joined, and no refusal is known{shows}"
