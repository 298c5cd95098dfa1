"""Clusters in short form, as scenario files write them: pods, nodes and pools as few words as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from contract.documents.autoscaler_memory import Backoff, DecisionMemory
from contract.kubernetes.quantities import Resources, whole
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ClusterSnapshot,
    CordonOrigin,
    DaemonPod,
    Gang,
    GroupFailure,
    MovablePod,
    NodeHealth,
    PendingPod,
    PodSet,
    ScalingGroup,
    ScalingPool,
    SharedLimit,
    UnjoinedMachine,
)
from services.autoscaler.pod_shapes import (
    AntiAffinity,
    NodeConstraints,
    NodeKind,
    NodeSelectorTerm,
    PodShape,
    SchedulingTaint,
    SelectorOperator,
    SelectorRequirement,
    Toleration,
    amounts,
)
from services.autoscaler.time_limits import ScalingLimits

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SHORT = {"gpu": "nvidia.com/gpu", "disk": "ephemeral-storage"}
GPU_NODE = {"cpu": 96, "memory": "1000Gi", "gpu": 8, "disk": "500Gi", "pods": 16}
"""A node of a pool that says nothing else."""


def resources(asked: Mapping[str, Any]) -> Resources:
    """Return amounts, with ``gpu`` and ``disk`` for their long names."""
    return {SHORT.get(name, name): whole(SHORT.get(name, name), amount) for name, amount in asked.items()}


def ago(text: str | None) -> datetime | None:
    """Return the time so long ago: ``40s``, ``5m``, ``2h``; in the future with a sign before it."""
    if text is None:
        return None
    units = {"s": "seconds", "m": "minutes", "h": "hours"}
    return NOW - timedelta(**{units[text[-1]]: float(text[:-1])})


def span(text: str) -> timedelta:
    found = ago(text)
    assert found is not None
    return NOW - found


def requirement(text: str) -> SelectorRequirement:
    """Parse ``key``, ``!key``, ``key=value`` or ``key In a,b``."""
    if " " in text:
        key, operator, values = (*text.split(" "), "")[:3]
        return SelectorRequirement(key, SelectorOperator(operator), tuple(filter(None, values.split(","))))
    if "=" in text:
        key, _, value = text.partition("=")
        return SelectorRequirement(key, SelectorOperator.IN, (value,))
    return SelectorRequirement(
        text.lstrip("!"), SelectorOperator.DOES_NOT_EXIST if text.startswith("!") else SelectorOperator.EXISTS
    )


def taint(text: str) -> SchedulingTaint:
    """Parse ``key``, ``key=value`` or ``key=value:effect``."""
    rest, _, effect = text.partition(":")
    key, _, value = rest.partition("=")
    return SchedulingTaint(key, value, effect or "NoSchedule")


def toleration(text: str) -> Toleration:
    """Parse ``*``, ``key``, ``key=value`` and each with ``:effect``."""
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    return Toleration("" if key == "*" else key, value if equals else None, effect)


def shape(raw: Mapping[str, Any]) -> PodShape:
    """Return a pod's shape."""
    affinity = raw.get("affinity")
    terms = [tuple(NodeSelectorTerm(tuple(map(requirement, one))) for one in affinity)] if affinity is not None else []
    if "at" in raw:
        terms.append(
            (NodeSelectorTerm((), (SelectorRequirement("metadata.name", SelectorOperator.IN, (raw["at"],)),)),)
        )
    where = NodeConstraints(
        selector=tuple(map(requirement, raw.get("selector", ()))),
        affinity=tuple(terms),
        tolerations=tuple(map(toleration, raw.get("tolerates", ()))),
    )
    return PodShape(
        requests=amounts(resources({"pods": 1, **raw.get("asks", {})})),
        where=where,
        apart=tuple(AntiAffinity((raw.get("namespace", "team"),), (requirement(one),)) for one in raw.get("apart", ())),
        ports=tuple(raw.get("ports", ())),
        unknown=tuple(Obstacle(WaitReason.NOT_UNDERSTOOD, words) for words in raw.get("unknown", ())),
    )


def pairs(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def pods(raw: Mapping[str, Any]) -> list[PendingPod]:
    """Return one pod or, with ``count``, several."""
    names = [raw["name"]] if "count" not in raw else [f"{raw['name']}-{index:03}" for index in range(raw["count"])]
    one = shape(raw)
    return [
        PendingPod(
            namespace=raw.get("namespace", "team"),
            name=name,
            shape=one,
            priority=raw.get("priority", 0),
            labels=pairs(raw.get("labels", {})),
            gang=raw.get("gang", ""),
            nominated=raw.get("nominated", ""),
        )
        for name in names
    ]


def nodes(raw: Mapping[str, Any], pools: Mapping[str, Mapping[str, Any]]) -> list[ClusterNode]:
    """Return one node or, with ``count``, several."""
    names = [raw["name"]] if "count" not in raw else [f"{raw['name']}-{index:03}" for index in range(raw["count"])]
    return [_node(name, raw, pools.get(raw.get("pool", ""), {})) for name in names]


def _node(name: str, raw: Mapping[str, Any], pool: Mapping[str, Any]) -> ClusterNode:
    has = resources({"pods": 16, **raw.get("has", pool.get("has", GPU_NODE))})
    free = dict(has)
    work, moving = 0, []
    identities = []
    aparts: list[AntiAffinity] = []
    for one in raw.get("pods", ()):
        own = shape(one)
        for key, amount in own.requests:
            free[key] = free.get(key, 0) - amount
        identities.append((one.get("namespace", "team"), pairs(one.get("labels", {}))))
        aparts += own.apart
        if one.get("moves"):
            moving.append(
                MovablePod(
                    namespace=one.get("namespace", "team"),
                    name=one["name"],
                    shape=own,
                    labels=pairs(one.get("labels", {})),
                    block_reason=one.get("held", ""),
                )
            )
        elif not one.get("daemon"):
            work += 1
    labels = {**pool_labels(raw.get("pool", ""), pool), **raw.get("labels", {})}
    group = raw.get("group", raw.get("pool", "") if not pool.get("racks") else "")
    return ClusterNode(
        name=name,
        kind=NodeKind(pairs(labels), tuple(sorted(map(taint, raw.get("taints", pool.get("taints", ())))))),
        free=free,
        allocatable=has,
        pool=raw.get("pool", ""),
        group=group,
        machine=f"i-{name}" if group and not pool.get("error") and not raw.get("ended") else "",
        counted=not raw.get("leaves", raw.get("standby", False)),
        health=NodeHealth(raw.get("health", "ending" if raw.get("leaves") else "ready")),
        since=ago(raw.get("since")),
        made=ago(raw.get("made")),
        cordon=CordonOrigin(raw.get("cordon", "")),
        cordoned_at=ago(raw.get("cordoned")),
        keep=raw.get("keep", ""),
        work=work,
        leaving=raw.get("leaving", 0),
        moving=tuple(moving),
        identities=tuple(identities),
        apart=tuple(aparts),
        ports=frozenset(raw.get("ports", ())),
    )


def pool_labels(name: str, raw: Mapping[str, Any]) -> dict[str, str]:
    zones = raw.get("zones", ["a"])
    zone = {"zone": zones[0]} if len(zones) == 1 else {}
    return {"pool": name, "site": raw.get("site", "use1"), **zone, **raw.get("labels", {})}


def pool(name: str, raw: Mapping[str, Any], there: Sequence[ClusterNode]) -> ScalingPool:
    """Return a pool. Without words about its group, that has as many machines as there are nodes."""
    groups: list[ScalingGroup] = []
    mine = [node for node in there if node.pool == name]
    if not raw.get("racks"):
        for own in raw.get("groups", [{}]):
            group_name = own.get("name", name)
            count = sum(node.group == group_name and node.counted for node in mine)
            groups.append(_group(group_name, {**raw, **own}, count))
    return ScalingPool(
        name=name,
        site=raw.get("site", "use1"),
        region=raw.get("region", raw.get("site", "use1")),
        groups=tuple(groups),
        labels=pairs(pool_labels(name, raw)),
        taints=tuple((one.key, one.value, one.effect) for one in map(taint, raw.get("taints", ()))),
        capacity=resources({"pods": 16, **raw.get("has", GPU_NODE)}),
        machine_type=raw.get("type", ""),
        min=raw.get("min", 0),
        max=raw.get("max", 10),
        spare=raw.get("spare", 0),
        priority=raw.get("priority", 100),
        fallbacks=tuple(raw.get("fallbacks", ())),
        price=Decimal(str(raw["price"])) if "price" in raw else None,
        spot=raw.get("spot", False),
        reserved=raw.get("reserved", False),
        racks=raw.get("racks", False),
        closed=Obstacle(WaitReason.POOL_ROLLING, raw["closed"]) if "closed" in raw else None,
        join=span(raw.get("join", "15m")),
        idle=span(raw.get("idle", "10m")),
    )


def _group(name: str, raw: Mapping[str, Any], count: int) -> ScalingGroup:
    unjoined = tuple(UnjoinedMachine(id=one["id"], made_at=ago(one.get("made"))) for one in raw.get("unjoined", ()))
    machines = raw.get("machines", count + len(unjoined))
    return ScalingGroup(
        name=name,
        wanted=raw.get("wanted", machines),
        machines=machines,
        max=raw.get("group_max", raw.get("max", 10)),
        min=raw.get("group_min", raw.get("min", 0)),
        min_by_hand=raw.get("min_by_hand", False),
        leaving=raw.get("leaving", 0),
        unjoined=unjoined,
        refused=tuple(raw.get("refused", ())),
        failures=tuple(
            GroupFailure(at=ago(failure["at"]) or NOW, obstacle=Obstacle(WaitReason.OUT_OF_CAPACITY, failure["reason"]))
            for failure in raw.get("failures", ())
        ),
        labels=pairs(raw.get("group_labels", {})),
        error=raw.get("error", ""),
    )


def gang(raw: Mapping[str, Any]) -> Gang:
    return Gang(
        name=raw["name"],
        sets=tuple(PodSet(shape=shape(one), count=one["count"]) for one in raw.get("sets", ())),
        within=raw.get("within", ""),
        priority=raw.get("priority", 0),
        created=ago(raw.get("created")),
        request=raw.get("request", False),
        granted=raw.get("granted", False),
        on=tuple(raw.get("runs_on", ())),
        runs=tuple(map(shape, raw.get("runs", ()))),
        least=raw.get("least", 0),
        unknown=tuple(Obstacle(WaitReason.NOT_UNDERSTOOD, words) for words in raw.get("unknown", ())),
    )


def daemon(raw: Mapping[str, Any]) -> DaemonPod:
    namespace = raw.get("namespace", "kube-system")
    labels = pairs(raw.get("labels", {}))
    return DaemonPod(shape=shape(raw), name=f"{namespace}/{raw.get('name', '')}", namespace=namespace, labels=labels)


def limit(raw: Mapping[str, Any]) -> SharedLimit:
    return SharedLimit(
        name=raw["name"], reason=WaitReason.MAX_NODES, left=raw["left"], each=pairs_of_numbers(raw["each"])
    )


def pairs_of_numbers(raw: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(raw.items()))


def memory(raw: Mapping[str, Any]) -> DecisionMemory:
    return DecisionMemory(
        asked={name: ago(text) or NOW for name, text in raw.get("asked", {}).items()},
        sizes=raw.get("sizes", {}),
        lost=frozenset(raw.get("lost", ())),
        backoff={
            name: Backoff(
                failures=pause["failures"],
                until=ago(pause["until"]) or NOW,
                obstacle=Obstacle(WaitReason.QUOTA_EXCEEDED, pause["reason"]),
            )
            for name, pause in raw.get("backoff", {}).items()
        },
        idle={name: ago(text) or NOW for name, text in raw.get("idle", {}).items()},
        unfit={name: ago(text) or NOW for name, text in raw.get("unfit", {}).items()},
        joining={name: ago(text) or NOW for name, text in raw.get("joining", {}).items()},
        unlisted={name: ago(text) or NOW for name, text in raw.get("unlisted", {}).items()},
        learned={name: resources(one) for name, one in raw.get("learned", {}).items()},
    )


def settings(raw: Mapping[str, Any]) -> ScalingLimits:
    return ScalingLimits(**raw)


def snapshot(raw: Mapping[str, Any]) -> tuple[ClusterSnapshot, tuple[ScalingPool, ...]]:
    """Return the cluster and the pools of a document."""
    declared: Mapping[str, Mapping[str, Any]] = raw.get("pools", {})
    there = tuple(node for one in raw.get("nodes", ()) for node in nodes(one, declared))
    found = ClusterSnapshot(
        pods=tuple(pod for one in raw.get("pods", ()) for pod in pods(one)),
        nodes=there,
        former_nodes=frozenset(raw.get("were", ())),
        gangs=tuple(map(gang, raw.get("gangs", ()))),
        limits=tuple(map(limit, raw.get("limits", ()))),
        daemons=tuple(map(daemon, raw.get("daemons", ()))),
        settings=settings(raw.get("settings", {})),
    )
    return found, tuple(pool(name, one, there) for name, one in declared.items())
