"""Properties of every decision, on clusters that hypothesis makes up, in the short form of scenario files."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contract.documents.autoscaler_memory import DecisionMemory, of_document, to_document
from services.autoscaler.cluster_snapshot import ClusterNode, ClusterSnapshot, CordonOrigin, ScalingPool
from services.autoscaler.scaling_actions import ScalingDecision, Verb
from services.autoscaler.scaling_decision import decide
from tests.services.autoscaler import placement_check, scenario_format
from tests.services.autoscaler.simulator import Simulator

TOUCHES = (Verb.CORDON, Verb.UNCORDON, Verb.DRAIN, Verb.END)
NAMES = ("red", "green", "blue")
LABEL = ("", "fast", "slow")
TAINTS = st.lists(
    st.sampled_from(["gpu", "gpu=yes", "own=team:NoExecute", "wish:PreferNoSchedule"]), max_size=2, unique=True
)
ASKS = st.fixed_dictionaries(
    {"cpu": st.sampled_from([0, 1, 3, 8, 20])},
    optional={"gpu": st.sampled_from([1, 4, 8]), "memory": st.sampled_from(["1Gi", "40Gi"])},
)
TOLERATES = st.lists(
    st.sampled_from(["*", "gpu", "gpu=yes", "gpu=no", "own", "own:NoExecute"]), max_size=2, unique=True
)
NEEDS = {
    "asks": ASKS,
    "tolerates": TOLERATES,
    "selector": st.lists(st.sampled_from(["speed=fast", "!speed", "site=east", "pool In red,blue"]), max_size=1),
}
PLACE = {
    "apart": st.lists(st.sampled_from(["app=a", "app=b"]), max_size=1),
    "labels": st.sampled_from([{}, {"app": "a"}, {"app": "b"}]),
    "ports": st.lists(st.just("TCP/80"), max_size=1),
}
RUNNING = st.fixed_dictionaries({"name": st.just("runs"), **NEEDS}, optional={"moves": st.booleans(), **PLACE})


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Return a whole cluster."""
    pools = {name: draw(_pools()) for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))}
    nodes = [
        {"name": f"n{index}", **draw(_nodes(sorted(pools)))}
        for index in range(draw(st.integers(min_value=0, max_value=6)))
    ]
    gangs = [{"name": name, "within": draw(st.sampled_from(["", "site", "zone", "pool"]))} for name in ("one", "two")]
    pods = [{"name": f"p{index}", **draw(_pods())} for index in range(draw(st.integers(min_value=0, max_value=6)))]
    left = draw(st.integers(min_value=0, max_value=6))
    return {
        "pools": pools,
        "nodes": nodes,
        "gangs": gangs,
        "pods": pods,
        "limits": [{"name": "max_nodes", "left": left, "each": dict.fromkeys(pools, 1)}],
        "daemons": draw(st.lists(st.fixed_dictionaries({"asks": st.just({"cpu": 1})}), max_size=1)),
        "memory": {"idle": {node["name"]: draw(st.sampled_from(["1m", "1h"])) for node in nodes}},
    }


@st.composite
def _pools(draw: st.DrawFn) -> dict[str, Any]:
    speed = draw(st.sampled_from(LABEL))
    least = draw(st.sampled_from([0, 0, 1]))
    return {
        "has": draw(st.sampled_from([{"cpu": 8, "memory": "64Gi"}, {"cpu": 32, "memory": "64Gi", "gpu": 8}])),
        "site": draw(st.sampled_from(["east", "west"])),
        "zones": draw(st.sampled_from([["a"], ["a", "b"]])),
        "min": least,
        "max": draw(st.integers(min_value=max(1, least), max_value=6)),
        "spare": draw(st.sampled_from([0, 0, 1, 2])),
        "priority": draw(st.sampled_from([1, 100])),
        "taints": draw(TAINTS),
        "labels": {"speed": speed} if speed else {},
        **draw(st.fixed_dictionaries({}, optional={"price": st.sampled_from([1, 9]), "spot": st.booleans()})),
        **draw(st.sampled_from([{}, {}, {}, {"error": "503"}, {"closed": "it is being rolled"}])),
    }


@st.composite
def _nodes(draw: st.DrawFn, pools: list[str]) -> dict[str, Any]:
    return {
        "pool": draw(st.sampled_from(pools)),
        "cordon": draw(st.sampled_from(["", "", "ours", "others"])),
        "cordoned": draw(st.sampled_from(["10s", "5m"])),
        "health": draw(st.sampled_from(["ready", "ready", "ready", "silent", "starting", "ending"])),
        "since": draw(st.sampled_from(["1m", "3h"])),
        "keep": draw(st.sampled_from(["", "", "longhaul.dev/keep"])),
        "pods": draw(st.lists(RUNNING, max_size=2)),
    }


@st.composite
def _pods(draw: st.DrawFn) -> dict[str, Any]:
    more = st.fixed_dictionaries({}, optional=PLACE)
    return {
        "count": draw(st.integers(min_value=1, max_value=4)),
        "priority": draw(st.sampled_from([0, 0, 5])),
        "gang": draw(st.sampled_from(["", "", "one", "two"])),
        **draw(st.fixed_dictionaries(NEEDS)),
        **draw(more),
    }


def decided(raw: Mapping[str, Any]) -> tuple[ClusterSnapshot, tuple[ScalingPool, ...], ScalingDecision]:
    cluster, pools = scenario_format.snapshot(raw)
    return cluster, pools, decide(cluster, pools, scenario_format.memory(raw["memory"]), scenario_format.NOW)


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_a_decision_keeps_its_promises(raw: dict[str, Any]) -> None:
    cluster, pools, decision = decided(raw)
    never_above_a_maximum(cluster, pools, decision)
    never_a_partial_gang(cluster, decision)
    never_on_a_protected_node(cluster, decision)
    placement_check.check(cluster, pools, decision)
    assert of_document(to_document(decision.memory)) == decision.memory


def never_above_a_maximum(cluster: ClusterSnapshot, pools: tuple[ScalingPool, ...], decision: ScalingDecision) -> None:
    bought: Counter[str] = Counter()
    sizes = {action.target: action.size for action in decision.actions if action.verb is Verb.GROW}
    for pool in pools:
        total = 0
        for group in pool.groups:
            before = max(group.wanted, group.machines)
            size = sizes.get(group.name, before)
            assert size is not None
            assert size <= max(group.max, before)
            assert size == before or not (group.error or pool.closed)
            bought[pool.name] += size - before
            total += size
        assert total <= max(pool.max, sum(max(group.wanted, group.machines) for group in pool.groups))
    for limit in cluster.limits:
        assert sum(bought[name] * each for name, each in limit.each) <= max(0, limit.left)


def never_a_partial_gang(cluster: ClusterSnapshot, decision: ScalingDecision) -> None:
    members = Counter(pod.gang for pod in cluster.pods if pod.gang)
    placed = Counter[str]()
    for one in decision.placed:
        if one.gang:
            placed[one.gang] += len(one.pods)
    for name, count in members.items():
        assert placed[name] in (0, count)


def never_on_a_protected_node(cluster: ClusterSnapshot, decision: ScalingDecision) -> None:
    nodes = {node.name: node for node in cluster.nodes}
    for action in decision.actions:
        if action.verb in TOUCHES:
            node = nodes[action.target]
            assert not node.keep
            assert node.cordon is not CordonOrigin.OTHERS
            assert action.verb is Verb.UNCORDON or not node.work
    names = [action.target for action in decision.actions if action.verb in TOUCHES]
    assert len(names) == len(set(names))


@settings(max_examples=80, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_no_order_of_its_input_matters(raw: dict[str, Any], chance: random.Random) -> None:
    cluster, pools, decision = decided(raw)

    def mixed(some: tuple[Any, ...]) -> tuple[Any, ...]:
        listed = list(some)
        chance.shuffle(listed)
        return tuple(listed)

    other = replace(
        cluster,
        pods=mixed(cluster.pods),
        nodes=tuple(replace(node, moving=mixed(node.moving)) for node in mixed(cluster.nodes)),
        gangs=mixed(cluster.gangs),
        limits=mixed(cluster.limits),
        daemons=mixed(cluster.daemons),
    )
    assert decide(other, mixed(pools), scenario_format.memory(raw["memory"]), scenario_format.NOW) == decision


@settings(max_examples=80, deadline=None)
@given(clusters())
def test_the_same_again_is_decided_the_same(raw: dict[str, Any]) -> None:
    """A crash between the decision and its first call loses nothing."""
    cluster, pools, decision = decided(raw)
    again = decide(cluster, pools, decision.memory, scenario_format.NOW)
    assert [action for action in again.actions if action.verb is not Verb.TELL] == [
        action for action in decision.actions if action.verb is not Verb.TELL
    ]


@settings(max_examples=80, deadline=None)
@given(clusters())
def test_nothing_oscillates_when_nothing_changes(raw: dict[str, Any]) -> None:
    cluster, pools = scenario_format.snapshot(raw)
    simulator = Simulator(cluster, pools, scenario_format.memory(raw["memory"]))
    simulator.settle()
    for pool in simulator.pools:
        assert sum(group.wanted for group in pool.groups) >= min(pool.min, sum(one.wanted for one in pool.groups))


def test_a_placement_that_does_not_fit_is_noticed() -> None:
    """The independent look at placements sees what it is for."""
    raw = {
        "pools": {"red": {}},
        "nodes": [{"name": "n", "pool": "red", "has": {"cpu": 8}}],
        "pods": [{"name": "p", "asks": {"cpu": 8}}],
        "memory": {},
    }
    cluster, pools, decision = decided(raw)
    placement_check.check(cluster, pools, decision)
    small = replace(cluster, nodes=tuple(_smaller(node) for node in cluster.nodes))
    assert placement_check.faults(small, pools, decision) == ["n: cpu"]


def _smaller(node: ClusterNode) -> ClusterNode:
    return replace(node, free={**node.free, "cpu": 1000})


def test_an_empty_memory_is_as_good_as_none() -> None:
    assert of_document(to_document(DecisionMemory())) == DecisionMemory()
