"""An independent look at placements, by the rules of Kubernetes as its pages tell them, in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from services.autoscaler.cluster_snapshot import ClusterSnapshot, CordonOrigin, NodeHealth, PendingPod, ScalingPool
from services.autoscaler.pod_shapes import AntiAffinity, NodeKind, PodShape, SchedulingTaint, SelectorRequirement
from services.autoscaler.scaling_actions import ScalingDecision


def check(cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], decision: ScalingDecision) -> None:
    assert faults(cluster, pools, decision) == []


def faults(cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], decision: ScalingDecision) -> list[str]:
    """Return each node on which something does not fit, with what."""
    found: list[str] = []
    pods = {pod.id: pod for pod in cluster.pods}
    on: dict[str, list[PendingPod]] = {}
    for placed in decision.placed:
        on.setdefault(placed.node, []).extend(pods[name] for name in placed.pods)
    seats = Counter(pod.id for some in on.values() for pod in some)
    found += [f"{name} is in {count} places" for name, count in seats.items() if count > 1]
    for name, some in on.items():
        kind, free, others, ports = _node(name, cluster, pools, decision)
        used: Counter[str] = Counter()
        for pod in some:
            used.update(dict(pod.shape.requests))
            if not may_be(pod.shape, kind):
                found.append(f"{name}: {pod.id} may not be there")
        found += [f"{name}: {key}" for key, amount in used.items() if amount > free.get(key, 0)]
        found += [f"{name}: {one}" for one in _apart(some, others)]
        taken = [*ports, *(port for pod in some for port in pod.shape.ports)]
        found += [f"{name}: port" for count in Counter(taken).values() if count > 1]
    return found


def _node(
    name: str, cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], decision: ScalingDecision
) -> tuple[NodeKind, Mapping[str, int], list[tuple[str, Mapping[str, str], tuple[AntiAffinity, ...]]], frozenset[str]]:
    """Return a node's kind, what it has free, the pods that are on it, and its ports that are taken."""
    node = next((one for one in cluster.nodes if one.name == name), None)
    if node is not None:
        assert node.cordon is not CordonOrigin.OTHERS
        assert node.health in (NodeHealth.READY, NodeHealth.STARTING)
        there = [(space, dict(labels), ()) for space, labels in node.identities]
        keeps: list[tuple[str, Mapping[str, str], tuple[AntiAffinity, ...]]] = [("", {}, node.apart)]
        # What a node that starts has is not all there yet.
        free = node.free if node.health is NodeHealth.READY else _empty(node.pool, node.kind, cluster, pools, decision)
        return node.kind, free, [*there, *keeps], node.ports
    group = name[: name.rindex("+")]
    pool, own = next((pool, one) for pool in pools for one in pool.groups if one.name == group)
    taints = tuple(sorted(SchedulingTaint(*one) for one in pool.taints))
    kind = NodeKind(tuple(sorted({*pool.labels, *own.labels})), taints)
    return kind, _empty(pool.name, kind, cluster, pools, decision), [], frozenset()


def _empty(
    name: str, kind: NodeKind, cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], decision: ScalingDecision
) -> Mapping[str, int]:
    pool = next(one for one in pools if one.name == name)
    has = Counter({**pool.capacity, **decision.memory.learned.get(name, {})})
    for daemon in cluster.daemons:
        requests = dict(daemon.shape.requests)
        if may_be(daemon.shape, kind) and all(has.get(key, amount) >= amount for key, amount in requests.items()):
            has.subtract(requests)
    return has


def may_be(shape: PodShape, kind: NodeKind) -> bool:
    """Return whether labels and taints let a pod be on a node. Operators beyond these are not made up here."""
    labels = dict(kind.labels)
    selected = all(_holds(one, labels) for one in shape.where.selector)
    return selected and all(_tolerates(shape, taint) for taint in kind.taints)


def _holds(one: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    if one.operator == "In":
        return labels.get(one.key) in one.values
    assert one.operator == "DoesNotExist"
    return one.key not in labels


def _tolerates(shape: PodShape, taint: SchedulingTaint) -> bool:
    if taint.effect == "PreferNoSchedule":
        return True
    for one in shape.where.tolerations:
        key = not one.key or one.key == taint.key
        value = one.value is None or one.value == taint.value
        effect = not one.effect or one.effect == taint.effect
        if key and value and effect:
            return True
    return False


def _apart(some: list[PendingPod], others: list[tuple[str, Mapping[str, str], tuple[AntiAffinity, ...]]]) -> list[str]:
    """Return every pair of pods that should be apart."""
    every = [*((pod.namespace, dict(pod.labels), pod.shape.apart) for pod in some), *others]
    found = []
    for index, (_, _, keeps) in enumerate(every):
        for other, (space, labels, _) in enumerate(every):
            # Of those that were there before, each pair is the scheduler's affair.
            if index != other and space and min(index, other) < len(some):
                found += [f"{index} and {other} are not apart" for one in keeps if _speaks_of(one, space, labels)]
    return found


def _speaks_of(one: AntiAffinity, namespace: str, labels: Mapping[str, str]) -> bool:
    return (one.namespaces is None or namespace in one.namespaces) and all(_holds(each, labels) for each in one.labels)
