"""One pass: read, decide, remember, act."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from contract.documents.autoscaler_memory import DecisionMemory
from contract.metrics import LabelValues
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_state import ListedObjects
from services.autoscaler.condition_writer import ConditionWriter
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.decision_memory import DecisionMemoryStore
from services.autoscaler.evaluation import Evaluation, evaluate, node_names
from services.autoscaler.group_reader import LIMIT_S, GroupAnswer, GroupReader
from services.autoscaler.group_writer import GroupWriter
from services.autoscaler.leadership import LeadershipGuard
from services.autoscaler.metrics import (
    ACTIONS,
    GROUPS_UNREAD,
    HOLDS,
    IDLE_NODES,
    PASS_SECONDS,
    PASSES,
    PASSES_FAILED,
    PENDING_PODS,
    POOLS_SKIPPED,
)
from services.autoscaler.node_writer import NodeWriter
from services.autoscaler.refusal_backoff import next_backoff
from services.autoscaler.scaling_actions import ScalingDecision, Verb
from services.autoscaler.time_limits import ScalingLimits
from services.metrics import ServiceMetrics

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api

FRESH_S, KEPT_S = 0.8, 9.0
"""Time for which a cloud's answer may be reused, seconds: about a group that was just asked for machines, and about any
other. A group's size is compared again before each write."""
CLOSELY = timedelta(minutes=1)
"""Time for which a group is read often after it was asked for machines: clouds refuse within seconds, while boots take
minutes."""

Read = Callable[[DecisionMemory, datetime], ListedObjects]
"""Returns the cluster's objects, with the given memory."""


@dataclass(frozen=True, kw_only=True)
class PassResult:
    """Result of a pass."""

    evaluation: Evaluation
    refused: Mapping[str, str]
    """Reasons why growths were refused at once, by the keys of their groups' failures; with any, another pass is
    due."""
    failed: int
    """Number of actions that were begun and not finished."""
    soon: bool
    """True when a group is being read often."""


class PassRunner:
    """Runner of one process's passes. With ``act`` false, passes change nothing."""

    def __init__(
        self,
        environment: Environment,
        api: Api,
        prices: PriceBook,
        *,
        read: Read,
        leads: Callable[[], bool],
        identity: str,
        decision_log: DecisionLog,
        metrics: ServiceMetrics,
        act: bool,
        settings: ScalingLimits | None = None,
    ) -> None:
        """``identity`` names this process as a holder of leases."""
        guard = LeadershipGuard(leads)
        self._environment, self._api, self._prices, self._read = environment, api, prices, read
        self._decision_log, self._metrics, self._act = decision_log, metrics, act
        self._settings = settings or ScalingLimits()
        self._store = DecisionMemoryStore(api)
        self.reader = GroupReader(environment)
        self._groups = GroupWriter(
            api, self.reader, guard=guard, holder=identity, decision_log=decision_log, metrics=metrics
        )
        self._nodes = NodeWriter(api, guard=guard, decision_log=decision_log)
        self._conditions = ConditionWriter(api, guard=guard, instance=identity, decision_log=decision_log)
        self._guard = guard
        self._closely: frozenset[str] = frozenset()
        self._were: frozenset[str] = frozenset()

    def run(self, *, limit_s: float | None = LIMIT_S) -> PassResult:
        """Run one pass. Clouds have ``limit_s`` seconds to answer, once for reading and once for writing; None is no
        limit. Raise ``ApiError`` when the API refuses or does not answer, and
        :class:`~services.autoscaler.leadership.LeadershipLostError` when this process does not lead any more."""
        began = time.monotonic()
        try:
            passed = self._run(limit_s)
        except Exception:
            self._metrics.count(PASSES_FAILED)
            raise
        self._metrics.count(PASSES)
        self._metrics.count(PASS_SECONDS, time.monotonic() - began)
        self._decision_log.forget_old()
        return passed

    def close(self) -> None:
        """Send no further requests."""
        self._groups.close()
        self.reader.close()

    def _run(self, limit_s: float | None) -> PassResult:
        late = self._groups.finish(0.0)
        memory = self._store.read()
        now = self._api.now()
        listed = self._read(memory, now)
        asked = self.reader.read(
            node_names(listed), keeps_s=lambda name: FRESH_S if name in self._closely else KEPT_S, limit_s=limit_s
        )
        asked = _with(asked, self._groups.sent())
        if late:
            listed = replace(listed, memory=self._failed(memory, late, now))
        evaluation = evaluate(
            self._environment,
            listed,
            asked,
            self._prices,
            now,
            closed=self._groups.closed(),
            settings=self._settings,
            former_nodes=self._were,
        )
        self._were = evaluation.machines
        self._note(evaluation)
        refused: dict[str, str] = {}
        if self._act:
            refused = self._do(evaluation, limit_s)
        asked_at = evaluation.decision.memory.asked
        self._closely = frozenset(name for name, at in asked_at.items() if now - at < CLOSELY)
        return PassResult(
            evaluation=evaluation, refused=refused, failed=self._decision_log.failures(), soon=bool(self._closely)
        )

    def _do(self, evaluation: Evaluation, limit_s: float | None) -> dict[str, str]:
        """Store the memory, and act. Groups are written first, since machines take longest."""
        self._guard.check()
        self._store.write(evaluation.decision.memory)
        self._groups.begin(evaluation)
        self._nodes.write(evaluation)
        self._conditions.write(evaluation)
        refused = self._groups.finish(limit_s)
        if refused:
            self._guard.check()
            self._store.write(self._failed(evaluation.decision.memory, refused, evaluation.now))
        return refused

    def _failed(self, memory: DecisionMemory, refused: Mapping[str, str], now: datetime) -> DecisionMemory:
        """Return a memory in which these groups have failed."""
        failures = {
            name: next_backoff(
                memory.backoff.get(name), Obstacle(WaitReason.REFUSED, f"refused: {why}"), now, self._settings
            )
            for name, why in refused.items()
        }
        return replace(memory, backoff={**memory.backoff, **failures})

    def _note(self, evaluation: Evaluation) -> None:
        decision: ScalingDecision = evaluation.decision
        for unread_groups in evaluation.unread_groups:
            self._decision_log.record("not seen", unread_groups)
        for action in decision.actions:
            self._decision_log.decided(action)
            self._metrics.count(ACTIONS, verb=action.verb, reason=action.reason)
        self._metrics.replace(PENDING_PODS, {(reason,): decision.waits.get(reason, 0) for reason in WaitReason})
        self._metrics.set(GROUPS_UNREAD, len(evaluation.unread_groups))
        holds = Counter(action.reason for action in decision.actions if action.verb is Verb.HOLD)
        self._metrics.replace(HOLDS, {(reason,): number for reason, number in holds.items()})
        idle = Counter(decision.kept.values())
        self._metrics.replace(IDLE_NODES, {(reason,): number for reason, number in idle.items()})
        pauses = decision.memory.backoff.items()
        skipped: dict[LabelValues, float] = {
            (name.partition("/")[0], str(pause.obstacle.reason)): 1
            for name, pause in pauses
            if evaluation.now < pause.until
        }
        self._metrics.replace(POOLS_SKIPPED, skipped)


def _with(asked: Mapping[str, Sequence[GroupAnswer]], sent: Mapping[str, int]) -> dict[str, tuple[GroupAnswer, ...]]:
    """Return the groups, with sizes that include unconfirmed requests."""

    def expected(answer: GroupAnswer) -> GroupAnswer:
        size = sent.get(answer.declared.name, 0)
        if answer.group is None or size <= answer.group.wanted:
            return answer
        return replace(answer, group=replace(answer.group, wanted=size))

    return {pool: tuple(map(expected, groups)) for pool, groups in asked.items()}
