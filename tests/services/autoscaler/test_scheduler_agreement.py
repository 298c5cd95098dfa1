"""Nodes that take a pod: the autoscaler and the pinned kube-scheduler agree on them, in random clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from clouds.base.live_groups import GroupState
from components.model.prices.book import PriceBook
from components.model.sites.cloud_names import pool_groups
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.api import Api
from contract.kubernetes.paths import NODES, PODS
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import ClusterSnapshot, CordonOrigin, PendingPod, ScalingPool
from services.autoscaler.cluster_state import ClusterState, cluster_state, list_all
from services.autoscaler.free_capacity import NodeRoom, Tier
from services.autoscaler.group_reader import GroupAnswer
from services.autoscaler.pod_demand import shapes_of
from services.autoscaler.scaling_decision import _seat_nominated, closed_domains, decide
from services.autoscaler.scaling_pools import scaling_pools
from tests.services.autoscaler.new_node_worlds import POOL, NewNodeWorld, daemon_pod, new_node, new_node_world
from tests.services.autoscaler.pod_features import Json
from tests.services.autoscaler.scheduled_cluster import build, clear, delete, make_node, make_pod, watched
from tests.services.autoscaler.scheduler_oracle import bound_pods, name_of, schedulable_nodes
from tests.services.autoscaler.scheduler_worlds import (
    PARTS,
    World,
    chosen_seeds,
    competing_pods,
    few_features,
    world,
)
from tests.support.api_server import ApiServer

GATE = "schedulingGates"
WORLDS, MANY = PARTS, 60
"""Number of clusters in each run of the suite, and in the drill."""
NEW_WORLDS, MANY_NEW = 3, 40
"""Number of pools without machines in each, likewise."""
COPIES = 6
TOLD = {
    "volume without a claim": "pods of a node may not share it",
    "apart by zone": "the zone of a new node may not be known before it is made",
    "near other pods": "a new node is near nobody",
    "spread by zone": "the zone of a new node may not be known before it is made",
}
"""Features that the autoscaler says it does not understand, with the reason: it buys nothing for them, and tells the
pod."""


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(WORLDS))
def test_nodes_that_take_a_pod_are_those_of_the_scheduler(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", chosen_seeds(WORLDS, MANY))
def test_nodes_are_those_of_the_scheduler_in_many_clusters(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(NEW_WORLDS))
def test_pods_for_which_a_machine_is_asked_are_taken_by_its_node(scheduled: ApiServer, seed: int) -> None:
    assert new_node_disagreements(scheduled, seed) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", chosen_seeds(NEW_WORLDS, MANY_NEW))
def test_pods_are_taken_by_new_nodes_of_many_pools(scheduled: ApiServer, seed: int) -> None:
    assert new_node_disagreements(scheduled, seed) == []


@pytest.mark.engine
def test_pods_that_share_volumes_or_compete_for_them_run_where_the_scheduler_says(scheduled: ApiServer) -> None:
    assert world_disagreements(scheduled, competing_pods(), "competing pods") == []


def disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods of a random cluster for which the autoscaler and the scheduler name different nodes."""
    return world_disagreements(server, world(Random(seed), among=few_features(seed)), f"seed {seed}")


def world_disagreements(server: ApiServer, made: World, title: str) -> list[str]:
    """Return the pods of a cluster for which the autoscaler and the scheduler name different nodes."""
    api = server.client(timeout_s=30.0)
    clear(api)
    build(api, made)
    state = cluster_state(watched(list_all(api)), machines={}, taints={}, now=api.now())
    expected = schedulable_nodes(server, api)
    actual = accepting_nodes(state)
    gated = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in made.waiting if GATE in pod["spec"]}
    assert expected.keys() - gated == actual.keys()
    lines = differing_nodes(made, state, expected, actual)
    seen = Counter(feature for name in actual for feature in made.features[name.partition("/")[2]])
    told = sum(bool(pod.shape.unknown) for pod in state.pods)
    print(f"{title}: {len(expected)} pods, {told} told, {dict(seen)}", *lines, sep="\n")
    return lines


def differing_nodes(
    made: World,
    state: ClusterState,
    expected: Mapping[str, tuple[frozenset[str], str]],
    actual: Mapping[str, frozenset[str]],
) -> list[str]:
    """Return the pods among ``actual`` for which the autoscaler and the scheduler name different nodes."""
    told = {pod.id: [str(obstacle.message) for obstacle in pod.shape.unknown] for pod in state.pods}
    # A pod that tolerates everything may run on a cordoned node; somebody cordoned it to have it empty.
    cordoned = {body["metadata"]["name"] for body in made.nodes if body["spec"].get("unschedulable")}
    lines = []
    for name, accepting in sorted(actual.items()):
        nodes, text = expected[name]
        features = made.features[name.partition("/")[2]]
        if told[name]:
            if nodes - cordoned and not {*features} & TOLD.keys():
                lines.append(f"{name} {features}: told {told[name]}; the scheduler names {sorted(nodes)}")
        elif nodes - cordoned != accepting:
            more, fewer = sorted(accepting - nodes), sorted(nodes - cordoned - accepting)
            lines.append(f"{name} {features}: too many {more}, too few {fewer}; the scheduler: {text}")
    return lines


def accepting_nodes(state: ClusterState) -> dict[str, frozenset[str]]:
    """Return the nodes on which the autoscaler would place each waiting pod, by the pod's namespace and name."""
    shapes = shapes_of(state.pods, ())
    apart = {term for node in state.nodes for term in node.apart}
    ledger = CapacityLedger(shapes, apart=apart, closed=closed_domains(state.nodes))
    everywhere = {
        node.name: NodeRoom(node.name, node.kind, Tier.BUSY, ledger.needs.amounts(node.free), node)
        for node in state.nodes
        if node.cordon is CordonOrigin.NONE
    }
    ledger.add_all(everywhere.values())
    _seat_nominated(state.pods, everywhere, ledger)
    result = {}
    for pod in state.pods:
        need = ledger.needs.of(pod.shape, (pod.namespace, pod.labels))
        rooms = []
        # Each is offered by itself: a pod that was placed changes where the next one may be.
        while True:
            mark = ledger.checkpoint()
            placed = ledger.place(need, 1, tiers=(Tier.BUSY,))
            ledger.undo_to(mark)
            if not placed:
                break
            room = placed[0][0]
            room.closed = True
            rooms.append(room)
        for room in rooms:
            room.closed = False
        result[pod.id] = frozenset(room.name for room in rooms)
    return result


def new_node_disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods for which a machine is asked although its node would not take them, or not asked although it
    would, and pods that do not fit together as expected."""
    api = server.client(timeout_s=30.0)
    random = Random(seed)
    made = new_node_world(random, few_features(seed))
    clear(api)
    _build_around(api, made)
    state = cluster_state(watched(list_all(api)), machines={}, taints={}, now=api.now())
    pools = _pools(made, state)
    bought = {pod.id: _placed(state, pools, api, [pod]) for pod in state.pods}
    told = {pod.id: [str(obstacle.message) for obstacle in pod.shape.unknown] for pod in state.pods}
    nodes = {f"new-{zone}" for zone in made.zones}
    expected = schedulable_nodes(server, api, _make_new_nodes(api, made, pools[0]))
    # A pod that tolerates everything may run on cordoned nodes too; nobody makes volumes here for those that are bound.
    alone = [pod for pod in state.pods if bought[pod.id] and expected[pod.id][0] <= nodes]
    chosen = random.choice([pod for pod in alone if "claim" not in made.cluster.features[pod.name]] or [None])
    copies = [replace(chosen, name=f"copy-{number}") for number in range(COPIES)] if chosen else []
    together = _placed(state, [replace(pool, max=1) for pool in pools], api, copies)
    lines, features = [], Counter[str]()
    for name in sorted(bought):
        accepted, text = expected[name]
        own = made.cluster.features[name.partition("/")[2]]
        features.update(own)
        if bool(bought[name]) != (nodes <= accepted) and not (told[name] and {*own} & TOLD.keys()):
            word = "is asked for nothing" if bought[name] else f"is not asked {told[name]}"
            lines.append(f"{name} {own}: a machine {word}; the scheduler names {sorted(accepted & nodes)}: {text}")
    if chosen:
        count = _bound_together(server, api, made, chosen)
        if count != together:
            own = made.cluster.features[chosen.name]
            lines.append(f"{chosen.id} {own}: {together} of {COPIES} together, the scheduler binds {count}")
    pool = made.environment.pools[POOL]
    print(f"seed {seed}: {pool.machine_type} in {len(nodes)} zones, {len(made.daemon_sets)} daemon sets")
    fit, unknown = sum(map(bool, bought.values())), sum(map(bool, told.values()))
    print(f"{len(bought)} pods, {fit} fit, {unknown} told; {together} of {COPIES} together")
    print(dict(features), *lines, sep="\n")
    return lines


def _pools(made: NewNodeWorld, state: ClusterState) -> list[ScalingPool]:
    empty = GroupState(target="v1", wanted=0, machines=())
    groups = [GroupAnswer(declared=group, group=empty) for group in pool_groups(made.environment, POOL)]
    return [*scaling_pools(made.environment, {POOL: groups}, state.nodes, prices=PriceBook(), closed={})]


def _placed(state: ClusterState, pools: list[ScalingPool], api: Api, pods: list[PendingPod]) -> int:
    """Return the number of pods that are placed on machines for which the pool is asked."""
    snapshot = ClusterSnapshot(pods=tuple(pods), nodes=state.nodes, daemons=state.daemons)
    decision = decide(snapshot, pools, DecisionMemory(), api.now())
    return sum(len(placed.pods) for placed in decision.placed if "+" in placed.node)


def _build_around(api: Api, made: NewNodeWorld) -> None:
    """Make the objects that are there before the machine."""
    if made.limit_range:
        path = f"/api/v1/namespaces/{made.limit_range['metadata']['namespace']}/limitranges"
        api.post(path, made.limit_range)
    kept = []
    for daemon_set in made.daemon_sets:
        # The API server refuses features that exclude each other in a pod, but not in a template.
        trial = daemon_pod(daemon_set, "trial", 0)
        if make_pod(api, trial):
            metadata = trial["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            api.delete(path, uid=api.get(path)["metadata"]["uid"], grace_s=0)
            api.post(f"/apis/apps/v1/namespaces/{metadata['namespace']}/daemonsets", daemon_set)
            kept.append(daemon_set)
    made.daemon_sets[:] = sorted(kept, key=name_of)
    build(api, made.cluster)


def _make_new_nodes(api: Api, made: NewNodeWorld, pool: ScalingPool) -> frozenset[str]:
    """Make a node in each of the pool's zones, with the pods of daemon sets. Return the names of these."""
    pods: list[Json] = []
    for zone in made.zones:
        node = new_node(made, zone, pool.capacity)
        make_node(api, node)
        pods += [daemon_pod(item, node["metadata"]["name"], rank) for rank, item in enumerate(made.daemon_sets)]
    return frozenset(name_of(pod) for pod in pods if make_pod(api, pod))


def _bound_together(server: ApiServer, api: Api, made: NewNodeWorld, chosen: PendingPod) -> int:
    """Return the number of copies of a pod that the scheduler binds to the node in the first zone."""
    (body,) = [pod for pod in made.cluster.waiting if name_of(pod) == chosen.id]
    other = {f"new-{zone}" for zone in made.zones[1:]}
    for item in list(api.items(PODS)):
        if not item["spec"].get("nodeName") or item["spec"]["nodeName"] in other:
            delete(api, PODS, item)
    for item in list(api.items(NODES)):
        if item["metadata"]["name"] in other:
            delete(api, NODES, item)
    for number in range(COPIES):
        make_pod(api, {**body, "metadata": {**body["metadata"], "name": f"copy-{number}"}})
    return sum("/copy-" in name for name in bound_pods(server, api))
