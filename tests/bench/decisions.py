"""Benchmark of the autoscaler's decision: 7,500 nodes in 60 pools, and pods that wait."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from contract.documents.autoscaler_memory import DecisionMemory
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ClusterSnapshot,
    Gang,
    PendingPod,
    ScalingGroup,
    ScalingPool,
)
from services.autoscaler.pod_shapes import (
    NodeConstraints,
    NodeKind,
    PodShape,
    SchedulingTaint,
    SelectorOperator,
    SelectorRequirement,
    Toleration,
    amounts,
)
from services.autoscaler.scaling_decision import decide

NODES, POOLS, SITES = 7_500, 60, 6
CASES = ((100, 1), (10_000, 500), (50_000, 5_000))
"""Number of waiting pods, and of shapes among them."""
GANG_MOST = 1_600
ROUNDS = 3
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIB = 2**30


def measure(_folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the time of a decision for each number of pods, the least of a few rounds, and the memory of all."""
    pools, nodes = cluster()
    for pods, shapes in CASES:
        snapshot = ClusterSnapshot(nodes=nodes, **waiting(pods, shapes))
        yield f"decision for {pods:,} pods of {shapes:,} shapes, {NODES:,} nodes, ms", _least_ms(snapshot, pools)
    yield "peak memory of all that, MiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _least_ms(snapshot: ClusterSnapshot, pools: tuple[ScalingPool, ...]) -> float:
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        decide(snapshot, pools, DecisionMemory(), NOW)
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def cluster() -> tuple[tuple[ScalingPool, ...], tuple[ClusterNode, ...]]:
    """Return pools that are three quarters full: half with GPUs, with a few free cores on every node."""
    chance = random.Random(7)
    pools, nodes = [], []
    each = NODES // POOLS
    for number in range(POOLS):
        gpus = 8 if number % 2 else 0
        name = f"pool-{number:02}"
        has = {"cpu": 96_000, "memory": 1_000 * GIB, "pods": 16} | ({"nvidia.com/gpu": 8} if gpus else {})
        labels = {
            "longhaul.dev/pool": name,
            "longhaul.dev/site": f"site-{number % SITES}",
            "node.kubernetes.io/instance-type": f"type-{number % 7}",
        }
        taints = (SchedulingTaint("nvidia.com/gpu"),) if gpus else ()
        kind = NodeKind(tuple(sorted(labels.items())), taints)
        for index in range(each):
            used = chance.choice((0, 2, 4, 8, 8, 8, 8, 8))
            free = {**has, "cpu": 96_000 - used * 11_000 - chance.randrange(1, 80) * 100, "pods": 15 - used}
            free["memory"] -= used * 120 * GIB + chance.randrange(32) * GIB
            if gpus:
                free["nvidia.com/gpu"] = 8 - used
            nodes.append(
                ClusterNode(
                    name=f"{name}-{index:03}",
                    kind=kind,
                    free=free,
                    allocatable=has,
                    pool=name,
                    group=name,
                    machine=f"i-{number:02}{index:03}",
                    work=used,
                )
            )
        group = ScalingGroup(name=name, wanted=each, machines=each, max=each + 100)
        pools.append(
            ScalingPool(
                name=name,
                site=f"site-{number % SITES}",
                groups=(group,),
                labels=tuple(sorted(labels.items())),
                taints=tuple((one.key, one.value, one.effect) for one in taints),
                capacity=has,
                max=each + 100,
                priority=number % 5,
                price=Decimal(1 + number % 11),
            )
        )
    return tuple(pools), tuple(nodes)


def waiting(count: int, shapes: int) -> dict[str, tuple[PendingPod, ...] | tuple[Gang, ...]]:
    """Return pods of some shapes, half of them in gangs of 1 to 1,600."""
    chance = random.Random(count)
    kinds = [_shape(chance, number) for number in range(shapes)]
    pods = [
        PendingPod(namespace="team", name=f"single-{index:05}", shape=kinds[index % shapes], priority=index % 3)
        for index in range(count // 2)
    ]
    gangs, left = [], count - len(pods)
    while left:
        size = min(left, chance.choice((1, 2, 4, 8, 16, 64, 200, GANG_MOST)))
        name, shape = f"gang-{len(gangs):04}", chance.choice(kinds)
        within = chance.choice(("", "longhaul.dev/site", "longhaul.dev/pool"))
        gangs.append(Gang(name=name, within=within))
        pods += [
            PendingPod(namespace="team", name=f"{name}-{index:04}", shape=shape, gang=name) for index in range(size)
        ]
        left -= size
    return {"pods": tuple(pods), "gangs": tuple(gangs)}


def _shape(chance: random.Random, number: int) -> PodShape:
    gpus = chance.choice((0, 0, 1, 2, 4, 8))
    requests = {
        "cpu": 1_000 * max(1, gpus * 10) + number % 900,
        "memory": (4 + gpus * 100) * GIB + number,
        "nvidia.com/gpu": gpus,
        "pods": 1,
    }
    selector = ()
    if chance.random() < 0.3:
        selector = (
            SelectorRequirement("longhaul.dev/site", SelectorOperator.IN, (f"site-{chance.randrange(SITES)}",)),
        )
    tolerations = (Toleration("nvidia.com/gpu"),) if gpus else ()
    return PodShape(requests=amounts(requests), where=NodeConstraints(selector=selector, tolerations=tolerations))
