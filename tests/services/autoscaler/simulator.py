"""A cluster that does what it is told at once: groups make and end machines, the scheduler binds what a decision
placed, and time passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from contract.documents.autoscaler_memory import DecisionMemory
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ClusterSnapshot,
    CordonOrigin,
    NodeHealth,
    PendingPod,
    ScalingGroup,
    ScalingPool,
)
from services.autoscaler.new_nodes import new_node_content, new_node_kind
from services.autoscaler.pool_outlook import GroupOutlook, PoolOutlook
from services.autoscaler.scaling_actions import ScalingAction, ScalingDecision, Verb
from services.autoscaler.scaling_decision import decide
from tests.services.autoscaler.scenario_format import NOW

STEP = timedelta(minutes=2)
ROUNDS = 200
QUIET = 12
"""Steps without an action after which nothing more can be due: longer than a pool's idle time and any wait."""
SAID = (Verb.TELL, Verb.HOLD, Verb.GRANT)


class Simulator:
    """A cluster in which nobody else does anything."""

    def __init__(self, cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], memory: DecisionMemory) -> None:
        self.cluster, self.pools, self.memory, self.now = cluster, pools, memory, NOW
        self.log: list[tuple[datetime, ScalingAction]] = []

    def settle(self) -> None:
        """Go on until nothing is done for a while; fail when that never comes, or a node goes to and fro."""
        quiet = 0
        for _ in range(ROUNDS):
            done = self.step()
            quiet = 0 if done else quiet + 1
            if quiet > QUIET:
                return
        last = [f"{at:%H:%M} {action.verb} {action.target}: {action.message}" for at, action in self.log[-12:]]
        raise AssertionError("no end to it:\n" + "\n".join(last))

    def step(self) -> bool:
        """Decide, and do all of it. Return whether anything was to be done."""
        decision = decide(self.cluster, self.pools, self.memory, self.now)
        done = [action for action in decision.actions if action.verb not in SAID]
        self.log += [(self.now, action) for action in done]
        self.memory = decision.memory
        for action in done:
            self._do(action)
        self._bind(decision)
        self.now += STEP
        return bool(done)

    def _do(self, action: ScalingAction) -> None:
        match action.verb:
            case Verb.GROW | Verb.SHRINK:
                assert action.size is not None
                self._resize(action.target, action.size)
            case Verb.CORDON:
                self._node(action.target, cordon=CordonOrigin.OURS, cordoned_at=self.now)
            case Verb.UNCORDON:
                self._node(action.target, cordon=CordonOrigin.NONE, cordoned_at=None)
            case Verb.DRAIN:
                self._evict(action.target)
            case Verb.END:
                gone = next(node for node in self.cluster.nodes if node.name == action.target)
                self.cluster = replace(self.cluster, nodes=tuple(one for one in self.cluster.nodes if one is not gone))
                self._group(action.group, lambda one: replace(one, wanted=one.wanted - 1, machines=one.machines - 1))

    def _node(self, name: str, **changes: object) -> None:
        nodes = [replace(node, **changes) if node.name == name else node for node in self.cluster.nodes]  # type: ignore[arg-type]
        self.cluster = replace(self.cluster, nodes=tuple(nodes))

    def _group(self, name: str, change: object) -> None:
        assert callable(change)
        self.pools = tuple(
            replace(pool, groups=tuple(change(one) if one.name == name else one for one in pool.groups))
            for pool in self.pools
        )

    def _resize(self, name: str, size: int) -> None:
        pool, group = next((pool, one) for pool in self.pools for one in pool.groups if one.name == name)
        names = {node.name for node in self.cluster.nodes}
        new = [one for number in range(1, 1000) if (one := f"{name}+{number}") not in names]
        count = size - group.machines
        made = [self._made(new[index], pool, group) for index in range(max(0, count))]
        self.cluster = replace(
            self.cluster,
            nodes=(*self.cluster.nodes, *made),
            limits=tuple(
                replace(one, left=one.left - len(made) * dict(one.each).get(pool.name, 0))
                for one in self.cluster.limits
            ),
        )
        self._group(name, lambda one: replace(one, wanted=size, machines=max(one.machines, size)))

    def _made(self, name: str, pool: ScalingPool, group: ScalingGroup) -> ClusterNode:
        views = [GroupOutlook(group, nodes=0, now=self.now, join=pool.join)]
        view = PoolOutlook(pool, views, capacity={**pool.capacity, **self.memory.learned.get(pool.name, {})})
        kind = new_node_kind(view, views[0])
        return ClusterNode(
            name=name,
            kind=kind,
            free=new_node_content(view, kind, self.cluster.daemons)[0],
            allocatable=view.capacity,
            pool=pool.name,
            group=group.name,
            machine=f"i-{name}",
        )

    def _evict(self, name: str) -> None:
        """Have the pods of a node made anew, as their controllers do."""
        node = next(one for one in self.cluster.nodes if one.name == name)
        free = Counter(node.free)
        for pod in node.moving:
            free.update(dict(pod.shape.requests))
        count = len(self.cluster.pods)
        again = [
            PendingPod(namespace="again", name=f"{count}-{index}", shape=pod.shape)
            for index, pod in enumerate(node.moving)
        ]
        self._node(name, free=dict(free), moving=())
        self.cluster = replace(self.cluster, pods=(*self.cluster.pods, *again))

    def _bind(self, decision: ScalingDecision) -> None:
        """Bind what was placed on nodes that are there and take pods."""
        nodes = {node.name: node for node in self.cluster.nodes}
        bound: set[str] = set()
        pods = {pod.id: pod for pod in self.cluster.pods}
        for placed in decision.placed:
            node = nodes.get(placed.node)
            if node is None or node.health is not NodeHealth.READY or node.cordon is not CordonOrigin.NONE:
                continue
            for name in placed.pods:
                node = nodes[node.name] = _with(node, pods[name])
                bound.add(name)
        self.cluster = replace(
            self.cluster,
            nodes=tuple(nodes.values()),
            pods=tuple(pod for pod in self.cluster.pods if pod.id not in bound),
        )


def _with(node: ClusterNode, pod: PendingPod) -> ClusterNode:
    free = Counter(node.free)
    free.subtract(dict(pod.shape.requests))
    return replace(
        node,
        free=dict(free),
        work=node.work + 1,
        identities=(*node.identities, (pod.namespace, pod.labels)),
        apart=(*node.apart, *pod.shape.apart),
        ports=node.ports | {*pod.shape.ports},
    )
