"""The benchmark's scheduler: nobody has more GPUs than there are, and whole nodes stay free for those who need them."""

from __future__ import annotations

import random
from collections import Counter

from tests.bench.crowd import NODES_OF_UNIT, UNIT
from tests.bench.seats import GPUS, Seats


def test_units_fill_their_nodes_and_no_more() -> None:
    seats, gpus = Seats(), {f"p-{number}": count for number, count in enumerate(UNIT * 20)}
    waiting = sorted(gpus, key=lambda name: gpus[name], reverse=True)
    placed = [one for name in waiting for one in seats.pod(name, gpus[name])]
    for number in range(20 * NODES_OF_UNIT):
        placed += seats.node(f"n-{number}")
    used: Counter[str] = Counter()
    for pod, node in placed:
        used[node] += gpus[pod]
    assert sorted(pod for pod, _ in placed) == sorted(gpus)
    assert set(used.values()) == {GPUS}
    assert seats.taken == Counter(node for _, node in placed)


def test_the_fullest_node_is_taken() -> None:
    seats = Seats()
    assert [*seats.node("a"), *seats.node("b"), *seats.pod("half", 4)] == [("half", "a")]
    assert [*seats.pod("small", 1), *seats.pod("whole", 8)] == [("small", "a"), ("whole", "b")]
    assert [*seats.pod("more", 4)] == []
    assert [*seats.node("c")] == [("more", "c")]


def test_pods_in_any_order_never_share_a_gpu() -> None:
    chance, seats, left = random.Random(3), Seats(), dict.fromkeys(map(str, range(50)), GPUS)
    gpus = {f"p-{number}": chance.choice(UNIT) for number in range(300)}
    for node in left:
        assert [*seats.node(node)] == []
    for name, count in gpus.items():
        for pod, node in seats.pod(name, count):
            left[node] -= gpus[pod]
            assert left[node] >= 0
