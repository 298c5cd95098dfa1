"""Days on which machines do not help: each is noticed, told on the pod, and asked for less and less often."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contract.documents.autoscaler_memory import Backoff, DecisionMemory, Purchase, of_text, to_text
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, NodeHealth
from services.autoscaler.machine_offers import Market
from services.autoscaler.new_nodes import NewNodeContents
from services.autoscaler.pod_shapes import NodeKind, SchedulingTaint
from services.autoscaler.purchase_review import MOST, PurchaseReview, remember_purchases
from tests.services.autoscaler.real_cluster import DAY, MINUTE, Change, RealCluster, less
from tests.services.autoscaler.scenario_format import NOW

TRAIN = {"name": "train", "asks": {"gpu": 8}}
EAST = {"max": 40, "idle": "10m"}
HOURS = 24
RETRIES = HOURS + 6
"""Purchases in a day: one an hour, and those of the first, shorter pauses."""


def never_ready(node: ClusterNode) -> ClusterNode:
    return replace(node, health=NodeHealth.STARTING)


def without_time(node: ClusterNode) -> ClusterNode:
    """Return a node that is ready, and has a taint of which nobody tells the time."""
    return replace(node, health=NodeHealth.STARTING, since=None)


def with_port(node: ClusterNode) -> ClusterNode:
    return replace(node, ports=frozenset({"TCP/80"}))


def tainted(node: ClusterNode) -> ClusterNode:
    return replace(node, kind=NodeKind(node.kind.labels, (SchedulingTaint("agent.example.com/absent"),)))


def cordoned(node: ClusterNode) -> ClusterNode:
    return replace(node, cordon=CordonOrigin.OTHERS)


def silent(node: ClusterNode) -> ClusterNode:
    return replace(node, health=NodeHealth.SILENT)


KINDS: dict[str, tuple[Change, dict[str, Any], str]] = {
    "7 of 8 GPUs": (less(gpu=1), TRAIN, "it has 7 of 8 nvidia.com/gpu"),
    "a team's daemon set": (less(cpu=1000), {"name": "job", "asks": {"cpu": 96}}, "it has 95 of 96 cores"),
    "preflight never lifts": (never_ready, TRAIN, "not fit for pods within 15 min"),
    "a taint of which nobody tells the time": (without_time, TRAIN, "not fit for pods within 15 min"),
    "a port that a daemon set holds": (with_port, {**TRAIN, "ports": ["TCP/80"]}, "its port TCP/80 is in use"),
    "an agent's taint": (tainted, TRAIN, "its taint agent.example.com/absent:NoSchedule is not tolerated"),
    "a cordon": (cordoned, TRAIN, "somebody has cordoned it"),
    "it dies": (silent, TRAIN, "it does not answer"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_that_does_not_help_is_asked_for_less_and_less(kind: str) -> None:
    becomes, pod, why = KINDS[kind]
    real = RealCluster({"pools": {"east": EAST}, "pods": [pod]}, becomes={"east": becomes})
    real.run(DAY)
    assert real.bought["east"] <= RETRIES
    assert any(why in message and "it is asked again in" in message for message in real.messages), real.messages
    if kind not in ("a cordon", "it dies"):
        # Those that somebody cordoned are his; those that died go once they have been dead for an hour.
        assert real.most["east"] <= 4


def test_a_pod_that_the_scheduler_leaves_for_a_reason_of_its_own() -> None:
    raw = {"pools": {"east": EAST, "west": {"site": "usw2", "priority": 200}}, "pods": [TRAIN]}
    real = RealCluster(raw, refuses=frozenset({"train"}))
    real.run(DAY)
    assert (real.bought["east"], real.bought["west"]) <= (RETRIES, RETRIES)
    assert any("the scheduler has not placed such a pod on it" in message for message in real.messages)
    assert real.most["east"] <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_pool_gets_the_pod(kind: str) -> None:
    becomes, pod, _ = KINDS[kind]
    raw = {"pools": {"east": EAST, "west": {"site": "usw2", "priority": 200}}, "pods": [{**pod, "count": 3}]}
    real = RealCluster(raw, becomes={"east": becomes})
    real.run(30 * MINUTE)
    assert not real.cluster.pods
    assert real.bought == {"east": 3, "west": 3}
    real.run(DAY)
    if kind not in ("a cordon", "it dies"):
        assert [group.wanted for pool in real.pools for group in pool.groups] == [0, 3]


def test_a_retry_is_one_machine_until_one_helps() -> None:
    raw = {"pools": {"east": EAST}, "pods": [{**TRAIN, "count": 10}]}
    healthy: list[Callable[[ClusterNode], ClusterNode]] = [less(gpu=1)]

    def made(node: ClusterNode) -> ClusterNode:
        return healthy[0](node)

    real = RealCluster(raw, becomes={"east": made})
    real.run(timedelta(hours=3))
    assert 10 < real.bought["east"] <= 16
    assert len(real.cluster.pods) == 10
    healthy[0] = less()
    real.run(timedelta(hours=2))
    assert not real.cluster.pods


def test_pods_of_several_priorities_are_tried_with_one_machine_too() -> None:
    pods = [{**TRAIN, "count": 3}, {**TRAIN, "name": "urgent", "count": 3, "priority": 5}]
    real = RealCluster({"pools": {"east": EAST}, "pods": pods}, becomes={"east": less(gpu=1)})
    real.run(10 * MINUTE)
    first = real.bought["east"]
    real.run(60 * MINUTE)
    assert first <= 7
    assert real.bought["east"] <= first + 3


def test_pods_that_come_anew_under_other_names_are_known_by_what_they_ask() -> None:
    real = RealCluster({"pools": {"east": EAST}}, becomes={"east": less(gpu=1)})
    count = 0

    def again() -> None:
        nonlocal count
        if count % 4 == 0:
            real.remove("train")
        if count % 4 == 1:
            real.add(name=f"train-{count}", asks={"gpu": 8})
        count += 1

    real.run(DAY, again)
    assert real.bought["east"] <= RETRIES


def test_room_that_others_took_is_no_failure() -> None:
    """A pod of a higher priority comes each time that a machine is ready: it helped somebody, so the next is bought."""
    real = RealCluster({"pools": {"east": EAST}, "pods": [TRAIN]})
    count = 0

    def urgent() -> None:
        nonlocal count
        if count in (1, 2, 3):
            real.add(name=f"urgent-{count}", asks={"gpu": 8}, priority=10)
        count += 1

    real.run(20 * MINUTE, urgent)
    assert not real.cluster.pods
    assert real.bought == {"east": 4}
    assert all(purchase.failure is None for shapes in real.memory.purchases.values() for purchase in shapes.values())


def test_one_bad_machine_among_good_ones_stops_only_its_own_kind_for_a_while() -> None:
    number = 0

    def first_is_bad(node: ClusterNode) -> ClusterNode:
        nonlocal number
        number += 1
        return less(gpu=1)(node) if number == 1 else node

    raw = {"pools": {"east": EAST}, "pods": [{**TRAIN, "count": 4}]}
    real = RealCluster(raw, becomes={"east": first_is_bad})
    real.run(6 * MINUTE)
    assert (len(real.cluster.pods), real.bought) == (1, {"east": 4})
    real.add(name="half", asks={"gpu": 4, "cpu": 90})
    real.run(10 * MINUTE)
    assert not real.cluster.pods
    assert real.bought == {"east": 5}


def test_a_slow_scheduler_is_waited_for_and_a_dead_one_blames_no_pool() -> None:
    raw = {"pools": {"east": EAST, "west": {"site": "usw2", "priority": 200}}, "pods": [TRAIN]}
    real = RealCluster(raw, refuses=frozenset({"train"}))
    real.run(4 * MINUTE)
    assert real.bought == {"east": 1}
    dead = RealCluster(raw, refuses=frozenset({"train"}))
    dead.cluster = replace(dead.cluster, scheduling=False)
    dead.run(60 * MINUTE)
    assert dead.bought == {"east": 1}


def test_a_gang_is_judged_when_all_of_it_is_there() -> None:
    raw = {
        "pools": {"east": EAST, "west": {"site": "usw2", "priority": 200}},
        "gangs": [{"name": "big", "within": "site"}],
        "pods": [{**TRAIN, "count": 6, "gang": "big"}],
    }
    real = RealCluster(raw, becomes={"east": less(gpu=1)})
    real.run(10 * MINUTE)
    assert real.bought == {"east": 6, "west": 6}
    assert not real.cluster.pods


def test_a_shape_has_the_same_name_in_every_process() -> None:
    code = (
        "from tests.services.autoscaler.scenario_format import shape;"
        "from services.autoscaler.purchase_review import shape_key;"
        "print(shape_key(shape({'asks': {'gpu': 8, 'cpu': 3}, 'selector': ['a=b', '!c'], 'tolerates': ['x', 'y=z'],"
        "'affinity': [['d In e,f']], 'apart': ['g=h'], 'ports': ['TCP/80']})))"
    )
    names = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(names) == 1


def test_the_memory_of_purchases_is_bounded_and_keeps_failures() -> None:
    review = PurchaseReview()
    obstacle = Obstacle(WaitReason.NOT_TAKEN, "it has 7 of 8 nvidia.com/gpu")
    failed = Purchase(failure=Backoff(failures=1, until=NOW, obstacle=obstacle), failed=NOW)
    review.records = {
        ("east", f"{index:04}"): failed if index < MOST // 2 else Purchase(asked=NOW + timedelta(seconds=index))
        for index in range(2 * MOST)
    }
    ledger = CapacityLedger(())
    contents = NewNodeContents(ledger, (), after=NOW)
    market = Market(ledger, {}, limits=(), joining=1, contents=contents, closed={}, trials=())
    kept = remember_purchases(review, market, NOW)["east"]
    assert len(kept) == MOST
    assert sum(purchase.failure is not None for purchase in kept.values()) == MOST // 2
    assert f"{2 * MOST - 1:04}" in kept
    memory = DecisionMemory(purchases={"east": kept})
    assert of_text(to_text(memory)) == memory
    assert len(to_text(memory)) < 200_000


def test_reasons_tell_what_is_known() -> None:
    real = RealCluster({"pools": {"east": EAST}, "pods": [TRAIN]}, becomes={"east": less(gpu=1)})
    real.run(6 * MINUTE)
    purchase = next(iter(real.memory.purchases["east"].values()))
    assert purchase.failure is not None
    assert purchase.failure.obstacle.reason is WaitReason.NOT_TAKEN


def test_a_volume_without_a_limit_makes_no_machine_useless() -> None:
    """A gang with such a volume gets its machines, and keeps them while it waits for the last."""
    asks = {"gpu": 8, "attachable-volumes-csi-fsx.csi.aws.com": 1}
    gang = {"name": "big", "request": True, "sets": [{"count": 3, "asks": asks}]}
    cluster = RealCluster({"pools": {"east": EAST}, "gangs": [gang]})
    cluster.run(30 * MINUTE)
    assert cluster.bought == {"east": 3}
