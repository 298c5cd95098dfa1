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
from services.autoscaler.actions import Decision, Verb
from services.autoscaler.cluster_state import ListedObjects
from services.autoscaler.condition_writer import ConditionWriter
from services.autoscaler.group_reader import LIMIT_S, GroupAnswer, GroupReader
from services.autoscaler.group_writer import GroupWriter
from services.autoscaler.groups import next_backoff
from services.autoscaler.guard import Guard
from services.autoscaler.journal import DecisionJournal
from services.autoscaler.look import DecisionWithInput, decide, names
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
from services.autoscaler.settings import AutoscalerSettings
from services.autoscaler.store import MemoryStore
from services.metrics import ServiceMetrics

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api

FRESH_S, KEPT_S = 0.8, 9.0
"""Time for which a cloud's answer may be reused, seconds: about a group that was just asked for machines, and about any
other. A group's size is compared again before each write."""
CLOSELY = timedelta(minutes=1)
"""Time for which a group is looked at closely after it was asked: clouds refuse within seconds, while boots take
minutes."""

Read = Callable[[DecisionMemory, datetime], ListedObjects]
"""Returns the cluster's objects, with the given memory."""


@dataclass(frozen=True, kw_only=True)
class Passed:
    """Result of a pass."""

    looked: DecisionWithInput
    refused: Mapping[str, str]
    """Pools whose growth was refused at once; another pass is due."""
    failed: int
    """Number of actions that were begun and not finished."""
    soon: bool
    """True when a group is being looked at closely."""


class Passes:
    """Passes of one process. With ``act`` false, it changes nothing."""

    def __init__(
        self,
        environment: Environment,
        api: Api,
        prices: PriceBook,
        *,
        read: Read,
        leads: Callable[[], bool],
        identity: str,
        journal: DecisionJournal,
        metrics: ServiceMetrics,
        act: bool,
        settings: AutoscalerSettings | None = None,
    ) -> None:
        """``identity`` names this process as a holder of leases."""
        guard = Guard(leads)
        self._environment, self._api, self._prices, self._read = environment, api, prices, read
        self._journal, self._metrics, self._act = journal, metrics, act
        self._settings = settings or AutoscalerSettings()
        self._store = MemoryStore(api)
        self.reader = GroupReader(environment)
        self._groups = GroupWriter(api, self.reader, guard=guard, holder=identity, journal=journal, metrics=metrics)
        self._nodes = NodeWriter(api, guard=guard, journal=journal)
        self._teller = ConditionWriter(api, guard=guard, instance=identity, journal=journal)
        self._guard = guard
        self._closely: frozenset[str] = frozenset()
        self._were: frozenset[str] = frozenset()

    def run(self, *, limit_s: float | None = LIMIT_S) -> Passed:
        """Run one pass. Clouds have ``limit_s`` seconds to answer, once for reading and once for writing; None is no
        limit. Raise ``ApiError`` when the API refuses or does not answer, and
        :class:`~services.autoscaler.guard.LostError` when this process does not lead any more."""
        began = time.monotonic()
        try:
            passed = self._run(limit_s)
        except Exception:
            self._metrics.count(PASSES_FAILED)
            raise
        self._metrics.count(PASSES)
        self._metrics.count(PASS_SECONDS, time.monotonic() - began)
        self._journal.rest()
        return passed

    def close(self) -> None:
        """Send no further requests."""
        self._groups.close()
        self.reader.close()

    def _run(self, limit_s: float | None) -> Passed:
        late = self._groups.finish(0.0)
        memory = self._store.read()
        now = self._api.now()
        listed = self._read(memory, now)
        asked = self.reader.read(
            names(listed), keeps_s=lambda name: FRESH_S if name in self._closely else KEPT_S, limit_s=limit_s
        )
        asked = _with(asked, self._groups.sent())
        if late:
            listed = replace(listed, memory=self._failed(memory, late, now))
        looked = decide(
            self._environment,
            listed,
            asked,
            self._prices,
            now,
            closed=self._groups.closed(),
            settings=self._settings,
            were=self._were,
        )
        self._were = looked.machines
        self._note(looked)
        refused: dict[str, str] = {}
        if self._act:
            refused = self._do(looked, limit_s)
        asked_at = looked.decision.memory.asked
        self._closely = frozenset(name for name, at in asked_at.items() if now - at < CLOSELY)
        return Passed(looked=looked, refused=refused, failed=self._journal.failures(), soon=bool(self._closely))

    def _do(self, looked: DecisionWithInput, limit_s: float | None) -> dict[str, str]:
        """Store the memory, and act. Groups are asked first, since machines take longest."""
        self._guard.check()
        self._store.write(looked.decision.memory)
        self._groups.begin(looked)
        self._nodes.write(looked)
        self._teller.tell(looked)
        refused = self._groups.finish(limit_s)
        if refused:
            self._guard.check()
            self._store.write(self._failed(looked.decision.memory, refused, looked.now))
        return refused

    def _failed(self, memory: DecisionMemory, refused: Mapping[str, str], now: datetime) -> DecisionMemory:
        """Return a memory in which these pools have failed."""
        failures = {
            name: next_backoff(
                memory.backoff.get(name), Obstacle(WaitReason.REFUSED, f"refused: {why}"), now, self._settings
            )
            for name, why in refused.items()
        }
        return replace(memory, backoff={**memory.backoff, **failures})

    def _note(self, looked: DecisionWithInput) -> None:
        decision: Decision = looked.decision
        for blind in looked.blind:
            self._journal.say("not seen", blind)
        for action in decision.actions:
            self._journal.decided(action)
            self._metrics.count(ACTIONS, verb=action.verb, reason=action.reason)
        self._metrics.replace(PENDING_PODS, {(reason,): decision.waits.get(reason, 0) for reason in WaitReason})
        self._metrics.set(GROUPS_UNREAD, len(looked.blind))
        holds = Counter(action.reason for action in decision.actions if action.verb is Verb.HOLD)
        self._metrics.replace(HOLDS, {(reason,): number for reason, number in holds.items()})
        idle = Counter(decision.kept.values())
        self._metrics.replace(IDLE_NODES, {(reason,): number for reason, number in idle.items()})
        pauses = decision.memory.backoff.items()
        skipped: dict[LabelValues, float] = {
            (name, str(pause.obstacle.reason)): 1 for name, pause in pauses if looked.now < pause.until
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
