"""Writes to groups: sets their sizes and ends machines. Pools are written in parallel, and so are the groups of a pool.
A cloud that refuses or does not answer stops no other cloud.

A size is only written while the group still has the size on which the decision was based, and while this process holds
the pool's lease, which rolls use too. A size is never set below the number of existing machines, since the cloud would
choose the machines to remove.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime

from clouds.base.errors import CloudError
from clouds.base.live_groups import Life, LiveGroup
from clouds.base.phrases import counted
from components.model.autoscaler.leases import ROLLS
from components.model.nodes.labels import on_nodes
from contract.documents.autoscaler_memory import backoff_key
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.election import terms
from contract.kubernetes.lease import HeldError, holding
from contract.reasons.autoscaler import EndReason, Obstacle, WaitReason
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.evaluation import Evaluation
from services.autoscaler.group_reader import GroupAnswer, GroupReader
from services.autoscaler.leadership import LeadershipGuard
from services.autoscaler.metrics import CALLS_FAILED, MACHINES_ENDED, MACHINES_REQUESTED
from services.autoscaler.request_pauses import GroupPauses
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.termination_check import TerminationCheck
from services.metrics import ServiceMetrics

REPLACED = (EndReason.NEVER_JOINED, EndReason.NEVER_READY)
"""Reasons to end a machine that its group may replace when the group is at its minimum size."""
WRITES = (Verb.SHRINK, Verb.GROW, Verb.END)
CHECKS_S = 1.0
"""Time limit for the last checks before a call that ends machines, seconds, so that the first check is not outdated
when the last one is done. Machines that are not checked in time are ended by the next call."""

GROWTHS = 6
"""Number of growths of a group that may follow each other as closely as observations. Further growths keep the distance
that the cloud's limits allow in a long series. Otherwise, pods that are made one after the other would use up these
limits."""


class GroupWriter:
    """Writer of one process. Slow writes continue in the background, and their pools are left alone meanwhile."""

    def __init__(
        self,
        api: Api,
        reader: GroupReader,
        *,
        guard: LeadershipGuard,
        holder: str,
        decision_log: DecisionLog,
        metrics: ServiceMetrics,
    ) -> None:
        """``holder`` is the name under which this process holds pools' leases; no other process has the same name."""
        self._api, self._reader, self._guard, self._holder = api, reader, guard, holder
        self._decision_log, self._metrics = decision_log, metrics
        self._ending = TerminationCheck(api)
        self._patience = GroupPauses()
        self._lock = threading.Lock()
        self._refused: dict[str, str] = {}
        self._jobs: dict[str, Future[None]] = {}
        self._grown: dict[str, deque[datetime]] = {name: deque(maxlen=GROWTHS) for name in reader.groups}
        """Times of the last growths, by group."""
        self._sent: dict[str, dict[str, int]] = {}
        """Sizes that were last requested from the groups of a pool, by pool and group."""
        self._threads = ThreadPoolExecutor(max_workers=max(1, len(reader.groups)))

    def closed(self) -> dict[str, Obstacle]:
        """Return the pools to leave alone, with the reason."""
        pending = Obstacle(WaitReason.CLOUD_SILENT, "its last request is not answered yet")
        closed_groups = {pool: pending for pool, job in self._jobs.items() if not job.done()}
        for name, live in self._reader.groups.items():
            pause = self._patience.closed(live.cloud) or self._patience.closed(name)
            if pause:
                closed_groups.setdefault(live.pool, Obstacle(WaitReason.CLOUD_SILENT, pause))
        return closed_groups

    def sent(self) -> dict[str, int]:
        """Return the requested sizes that are not confirmed yet, by group. Their machines will come all the same."""
        waits = [pool for pool, job in self._jobs.items() if not job.done()]
        return {name: size for pool in waits for name, size in self._sent[pool].items()}

    def begin(self, evaluation: Evaluation) -> None:
        """Begin to write the groups of a decision."""
        wanted: dict[str, dict[str, list[ScalingAction]]] = {}
        for action in evaluation.decision.actions:
            if action.verb in WRITES:
                wanted.setdefault(action.pool, {}).setdefault(action.group or action.target, []).append(action)
        asked = {group.declared.name: group for groups in evaluation.asked.values() for group in groups}
        for pool, groups in wanted.items():
            self._sent[pool] = {
                name: wish.size
                for name, some in groups.items()
                for wish in some
                if wish.verb is Verb.GROW and wish.size
            }
            self._jobs[pool] = self._threads.submit(self._write_pool, pool, groups, asked, evaluation)

    def finish(self, limit_s: float | None) -> dict[str, str]:
        """Wait for the writes that were begun, and return the keys of the groups whose growth was refused
        (:func:`~contract.documents.autoscaler_memory.backoff_key`), with the reason."""
        done, _ = wait(self._jobs.values(), timeout=limit_s)
        for pool in [pool for pool, job in self._jobs.items() if job in done]:
            self._jobs.pop(pool).result()
        with self._lock:
            refused, self._refused = self._refused, {}
        return refused

    def close(self) -> None:
        """Begin no further writes."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _write_pool(
        self,
        pool: str,
        groups: Mapping[str, Sequence[ScalingAction]],
        asked: Mapping[str, GroupAnswer],
        evaluation: Evaluation,
    ) -> None:
        times = terms(gone=lambda other: other == self._holder)
        first = next(iter(groups.values()))[0]
        try:
            with holding(self._api, f"{ROLLS}{on_nodes(pool)}", holder=self._holder, times=times) as lock:
                guard = LeadershipGuard(lambda: self._guard.leads() and lock())
                with ThreadPoolExecutor(max_workers=len(groups)) as threads:
                    jobs = [
                        threads.submit(self._write_group, name, actions, asked[name], evaluation, guard)
                        for name, actions in groups.items()
                    ]
                for job in jobs:
                    job.result()
        except HeldError as error:
            self._decision_log.not_done(first, f"the pool is {error}")
        except ApiError as error:
            self._decision_log.not_done(first, str(error))

    def _write_group(
        self,
        name: str,
        actions: Sequence[ScalingAction],
        asked: GroupAnswer,
        evaluation: Evaluation,
        guard: LeadershipGuard,
    ) -> None:
        live = self._reader.groups[name].group
        size = asked.group.wanted if asked.group else -1
        todo = deque(_steps(actions, asked, at_once=live.ends_at_once))
        while todo:
            step = todo.popleft()
            if step[0].verb is Verb.GROW and self._grew_lately(name, live, evaluation.now):
                self._decision_log.not_done(step[0], "it was asked for machines a few seconds ago")
                continue
            try:
                guard.check()
                why = _why_not(live, step[0], size)
                if why:
                    self._decision_log.not_done(step[0], why)
                    return
                agreed, later = self._agreed(step, asked, evaluation)
                if later:
                    todo.appendleft(later)
                if not agreed:
                    continue
                guard.check()
                step = agreed
                size = self._write(live, agreed, size)
                if agreed[0].verb is Verb.GROW:
                    self._grown[name].append(evaluation.now)
            except CloudError as error:
                if len(step) == 1 or error.passing or not error.answered:
                    self._fail(name, step[0], error)
                    return
                # A machine that no longer exists, or the minimum size, must not stop the others from being ended.
                todo.extendleft([action] for action in reversed(step))
                continue
            finally:
                self._reader.forget(name)
            self._patience.answered(name)
            self._patience.answered(self._reader.groups[name].cloud)
            for action in agreed:
                self._decision_log.done(action)

    def _write(self, live: LiveGroup, step: Sequence[ScalingAction], size: int) -> int:
        """Write one step to a group of this size, and return its new size."""
        action = step[0]
        if action.size is None:
            live.end([end.machine for end in step], replaced=all(end.reason in REPLACED for end in step))
            for end in step:
                self._metrics.count(MACHINES_ENDED, pool=end.pool, reason=end.reason)
            return size - len(step)
        live.resize(action.size)
        self._metrics.count(MACHINES_REQUESTED, max(0, action.size - size), pool=action.pool, reason=action.reason)
        return action.size

    def _grew_lately(self, name: str, live: LiveGroup, now: datetime) -> bool:
        """Return whether a group has to wait before it may be asked for more machines."""
        ago = [(now - time).total_seconds() for time in self._grown[name]]
        often = len(ago) == GROWTHS and ago[0] < GROWTHS * live.grows_apart_s
        # The clock may have been set back.
        return bool(ago) and 0 <= ago[-1] < (live.grows_apart_s if often else live.apart_s)

    def _agreed(
        self, step: Sequence[ScalingAction], asked: GroupAnswer, evaluation: Evaluation
    ) -> tuple[Sequence[ScalingAction], Sequence[ScalingAction]]:
        """Return the actions of a step that are still valid, and those that are left for later. Each end is checked
        once more, and nothing slow happens between the check and the write."""
        agreed: list[ScalingAction] = []
        until = time.monotonic() + CHECKS_S
        for number, action in enumerate(step):
            if agreed and time.monotonic() > until:
                return agreed, step[number:]
            why = self._ending.why_not(action, asked, evaluation) if action.verb is Verb.END else ""
            if why:
                self._decision_log.not_done(action, why)
            else:
                agreed.append(action)
        return agreed, ()

    def _fail(self, name: str, action: ScalingAction, error: CloudError) -> None:
        """Record an error. A transient error leads to a pause; a refused growth makes the pool fail, so that other
        pools get the demand."""
        self._metrics.count(CALLS_FAILED, pool=action.pool, verb=action.verb)
        self._decision_log.not_done(action, str(error))
        if error.passing or not error.answered:
            # A cloud that has too many requests in total is not asked about its other groups either.
            where = self._reader.groups[name].cloud if error.busy and not error.alone else name
            self._patience.failed(where, str(error), retry_s=error.retry_s)
        elif action.verb is Verb.GROW:
            with self._lock:
                groups = sum(live.pool == action.pool for live in self._reader.groups.values())
                self._refused[backoff_key(action.pool, name, groups=groups)] = str(error)


def _steps(actions: Sequence[ScalingAction], asked: GroupAnswer, *, at_once: int) -> Iterator[Sequence[ScalingAction]]:
    """Yield the writes of a group in order, with as many ends together as its cloud allows. The new size of a growth
    assumes that machines that were never made are ended before the growth, and all other machines after it."""
    never = {refusal.machine for refusal in asked.refusals if refusal.machine}
    ends = [action for action in actions if action.verb is Verb.END]
    yield from ([action] for action in actions if action.verb is Verb.SHRINK)
    yield from _together([action for action in ends if action.machine in never], at_once)
    yield from ([action] for action in actions if action.verb is Verb.GROW)
    yield from _together([action for action in ends if action.machine not in never], at_once)


def _together(ends: Sequence[ScalingAction], most: int) -> Iterator[Sequence[ScalingAction]]:
    return (ends[first : first + most] for first in range(0, len(ends), most))


def _why_not(live: LiveGroup, action: ScalingAction, size: int) -> str:
    """Return why a group must not be written now; empty when it may be. ``size`` is the group's size by the decision
    and by the writes since then."""
    if action.verb is Verb.SHRINK and action.size is not None:
        there = sum(machine.counted and machine.life is not Life.LEAVING for machine in live.look().machines)
        if there > action.size:
            return f"it has {counted(there, 'machine')} by now"
    now = live.size()
    if now != size:
        return f"its size is {now} and no longer {size}"
    # Ends that the growth assumes may have been skipped. The growth would then lower the size, and the cloud would
    # choose the machines to remove.
    lowers = action.verb is Verb.GROW and action.size is not None and action.size <= now
    return f"its size is {now} already" if lowers else ""
