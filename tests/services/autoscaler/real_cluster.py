"""A cluster whose machines differ from what is declared, and whose scheduler goes by what nodes really have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from contract.documents.autoscaler_memory import DecisionMemory, of_text, to_text
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    CordonOrigin,
    NodeHealth,
    PendingPod,
    ScalingGroup,
    ScalingPool,
)
from services.autoscaler.scaling_actions import ScalingAction, ScalingDecision, Verb
from services.autoscaler.scheduling_rules import mismatch
from tests.services.autoscaler import scenario_format
from tests.services.autoscaler.simulator import STEP, Simulator, _with

Change = Callable[[ClusterNode], ClusterNode]


class RealCluster(Simulator):
    """A simulator in which ``becomes`` changes each new node of a pool, and ``refuses`` are pods that the scheduler
    places nowhere, for a reason that only it knows. The memory passes through its document, as over a restart."""

    def __init__(
        self, raw: dict[str, Any], *, becomes: dict[str, Change] | None = None, refuses: frozenset[str] = frozenset()
    ) -> None:
        cluster, pools = scenario_format.snapshot(raw)
        super().__init__(cluster, pools, DecisionMemory())
        self._becomes, self._refuses = becomes or {}, refuses
        self.most: dict[str, int] = {}
        """Largest size of each group."""
        self.messages: list[str] = []
        """Messages to pods, without repetitions."""

    def run(self, time: timedelta, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass; ``each`` happens before each decision."""
        until = self.now + time
        while self.now < until:
            each()
            self.memory = of_text(to_text(self.memory))
            self.step()

    @property
    def bought(self) -> dict[str, int]:
        """Return the number of machines that each group was asked for."""
        bought: dict[str, int] = {}
        for _, action in self.log:
            if action.verb is Verb.GROW:
                bought[action.target] = bought.get(action.target, 0) + (action.size or 0) - (action.was or 0)
        return bought

    def add(self, **raw: Any) -> None:
        """Create pods."""
        self.cluster = replace(self.cluster, pods=(*self.cluster.pods, *scenario_format.pods(raw)))

    def remove(self, name: str) -> None:
        """Delete waiting pods whose names begin so."""
        kept = tuple(pod for pod in self.cluster.pods if not pod.name.startswith(name))
        self.cluster = replace(self.cluster, pods=kept)

    def finish(self, name: str) -> None:
        """End all pods on a node."""
        self._node(name, free=dict(next(node for node in self.cluster.nodes if node.name == name).allocatable), work=0)

    def _do(self, action: ScalingAction) -> None:
        super()._do(action)
        for pool in self.pools:
            for group in pool.groups:
                self.most[group.name] = max(self.most.get(group.name, 0), group.wanted)

    def _made(self, name: str, pool: ScalingPool, group: ScalingGroup) -> ClusterNode:
        node = replace(super()._made(name, pool, group), made=self.now, since=self.now)
        return self._becomes.get(pool.name, lambda node: node)(node)

    def _bind(self, decision: ScalingDecision) -> None:
        for action in decision.actions:
            if action.verb is Verb.TELL and action.message not in self.messages:
                self.messages.append(action.message)
        nodes = {node.name: node for node in self.cluster.nodes}
        left: list[PendingPod] = []
        for pod in sorted(self.cluster.pods, key=lambda pod: -pod.priority):
            name = next((name for name, node in nodes.items() if self._fits(pod, node)), "")
            if name:
                nodes[name] = _with(nodes[name], pod)
            else:
                left.append(pod)
        self.cluster = replace(self.cluster, nodes=tuple(nodes.values()), pods=tuple(left))

    def _fits(self, pod: PendingPod, node: ClusterNode) -> bool:
        closed = node.health is not NodeHealth.READY or node.cordon is not CordonOrigin.NONE
        if closed or pod.name in self._refuses or {*pod.shape.ports} & node.ports:
            return False
        enough = all(node.free.get(key, 0) >= amount for key, amount in pod.shape.requests)
        return enough and not mismatch(pod.shape.where, node.kind, node.name)


def less(**missing: int) -> Change:
    """Return a change by which a node has less than is declared."""

    def change(node: ClusterNode) -> ClusterNode:
        names = {scenario_format.SHORT.get(name, name): amount for name, amount in missing.items()}
        allocatable = {key: amount - names.get(key, 0) for key, amount in node.allocatable.items()}
        return replace(node, allocatable=allocatable, free=dict(allocatable))

    return change


DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
assert STEP == 2 * MINUTE
