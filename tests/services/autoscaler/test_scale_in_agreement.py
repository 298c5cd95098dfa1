"""Nodes that the autoscaler would remove: the pinned kube-scheduler has room for their pods elsewhere, in random
clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from contract.annotations import DISPOSABLE
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.api import Api
from contract.kubernetes.paths import NODES, PODS
from contract.labels import POOL_LABEL
from contract.reasons.autoscaler import KeepReason
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ClusterSnapshot,
    CordonOrigin,
    ScalingGroup,
    ScalingPool,
)
from services.autoscaler.cluster_state import ClusterState, cluster_state, list_all
from services.autoscaler.free_capacity import NodeRoom, PodNeed
from services.autoscaler.node_objects import MachineFacts
from services.autoscaler.placement import Placer
from services.autoscaler.scale_in import ScaleIn
from services.autoscaler.scaling_actions import ScalingDecision, Verb
from services.autoscaler.scaling_decision import decide
from services.autoscaler.time_limits import ScalingLimits
from tests.services.autoscaler.pod_features import Json
from tests.services.autoscaler.scheduled_cluster import CORDONED, build, clear, delete, make_pod, pod_path, watched
from tests.services.autoscaler.scheduler_oracle import guided_scheduler, message_of, name_of
from tests.services.autoscaler.scheduler_worlds import World, chosen_seeds, few_features, world
from tests.support.api_server import ApiServer, eventually

POOL = "cpu"
WORLDS, MANY = 2, 40
"""Number of clusters in each run of the suite, and in the drill."""


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(WORLDS))
def test_pods_of_a_removed_node_have_room_on_others(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", chosen_seeds(WORLDS, MANY))
def test_pods_of_removed_nodes_have_room_in_many_clusters(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


@dataclass
class Removals:
    """Nodes to remove, each with its pods and the nodes on which they are expected, in the decision's order."""

    pods: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    decision: ScalingDecision = field(default_factory=ScalingDecision)


def scale_in_world(random: Random, among: frozenset[str]) -> World:
    """Return a random cluster of one pool, most of whose pods may be moved."""
    made = world(random, nodes=10, running=24, waiting=3, among=among)
    for node in made.nodes:
        node["metadata"]["labels"][POOL_LABEL] = POOL
        node["status"]["allocatable"] |= {"cpu": random.choice(("6", "12")), "pods": random.choice(("6", "20"))}
        if random.random() < 0.5:
            node["spec"]["taints"] = []
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "some", "uid": "x", "controller": True}
    for pod in made.running:
        pod["metadata"]["ownerReferences"] = [owner]
        if random.random() < 0.9:
            pod["metadata"]["annotations"] = {DISPOSABLE: "true"}
    return made


def disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods of removed nodes that the scheduler would not run where the autoscaler expects them, and nodes
    that stay although the scheduler has room for their pods."""
    api = server.client(timeout_s=30.0)
    random = Random(seed)
    made = scale_in_world(random, few_features(seed))
    clear(api)
    build(api, made)
    machines = {name: MachineFacts(group=POOL, machine=name) for name in map(_name, made.nodes)}
    state = cluster_state(watched(list_all(api)), machines=machines, taints={}, now=api.now())
    removals = planned_removals(state, api)
    pods = {name_of(pod): pod for pod in made.running}
    nodes = {node.name: node for node in state.nodes}
    placed = {pod: {part.node} for part in removals.decision.placed for pod in part.pods}
    closed = {*removals.pods, *(node.name for node in state.nodes if node.cordon is CordonOrigin.OTHERS)}
    for name in removals.pods:
        api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True, "taints": [*_taints(made, name), CORDONED]}})
    lines: list[str] = []
    moved = 0
    with guided_scheduler(server, lambda pod, _: frozenset(placed.get(pod, ()))) as offered:
        for waiting in removals.decision.placed:
            for pod in waiting.pods:
                text = _tried(api, pod, offered)
                if waiting.node not in offered.get(pod, ()):
                    lines.append(f"{pod} waits, and is expected on {waiting.node}: {text}")
        for name, parts in removals.pods.items():
            for pod in sorted(pods.keys() & {pod for pod, _ in parts}):
                delete(api, PODS, api.get(pod_path(pods[pod])))
            for pod, target in parts:
                placed[pod] = {target}
                text = _made_again(api, pods[pod], offered)
                moved += 1
                if target not in offered.get(pod, ()):
                    rest = sorted(offered.get(pod, frozenset()) - closed)
                    lines.append(f"{pod} of {name} is expected on {target}; the scheduler names {rest}: {text}")
        stay = [
            nodes[name]
            for name, reason in sorted(removals.decision.kept.items())
            if reason is KeepReason.NO_ROOM_ELSEWHERE and not any(pod.shape.unknown for pod in nodes[name].moving)
        ]
        for node in stay:
            lines += _needless(api, node, pods, placed, {*nodes} - closed - {node.name}, offered)
    print(f"seed {seed}: {sorted(few_features(seed))}: {len(removals.pods)} nodes removed, {moved} pods moved,")
    reasons = Counter(str(reason) for reason in removals.decision.kept.values())
    print(f"{len(stay)} tried of kept {dict(reasons)}", *lines, sep="\n")
    return lines


def planned_removals(state: ClusterState, api: Api) -> Removals:
    """Return the nodes that a decision removes, all of which have been idle for long."""
    now, count = api.now(), len(state.nodes)
    group = ScalingGroup(name=POOL, wanted=count, machines=count, max=count)
    pool = ScalingPool(name=POOL, site="use1", groups=(group,), max=count)
    snapshot = ClusterSnapshot(
        pods=state.pods, nodes=state.nodes, daemons=state.daemons, settings=ScalingLimits(removable_share=1.0)
    )
    memory = DecisionMemory(idle={node.name: now - timedelta(days=1) for node in state.nodes})
    with _recorded() as pods:
        decision = decide(snapshot, [pool], memory, now)
    cordoned = {action.target for action in decision.actions if action.verb is Verb.CORDON}
    assert cordoned == pods.keys()
    return Removals(pods, decision)


@contextmanager
def _recorded() -> Iterator[dict[str, list[tuple[str, str]]]]:
    """Record where the pods of nodes are moved to: a decision tells only which nodes go."""
    moves: dict[str, list[tuple[str, str]]] = {}
    rooms: list[str] = []

    def move(placer: Placer, need: PodNeed) -> NodeRoom | None:
        room = placer_move(placer, need)
        rooms.append(room.name if room else "")
        return room

    def move_pods(scale_in: ScaleIn, node: ClusterNode) -> bool:
        rooms.clear()
        moved = scale_in_move_pods(scale_in, node)
        if moved:
            moves[node.name] = list(zip(sorted(pod.id for pod in node.moving), rooms, strict=True))
        return moved

    placer_move, scale_in_move_pods = Placer.move, ScaleIn._move_pods
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Placer, "move", move)
        patch.setattr(ScaleIn, "_move_pods", move_pods)
        yield moves


def _needless(
    api: Api,
    node: ClusterNode,
    pods: dict[str, Json],
    placed: dict[str, set[str]],
    remaining: set[str],
    offered: dict[str, frozenset[str]],
) -> list[str]:
    """Return that a node stays although the scheduler runs all of its pods on the remaining nodes. Its pods are on it
    again in the end."""
    names = sorted(pod.id for pod in node.moving)
    accepting = {}
    for name in names:
        delete(api, PODS, api.get(pod_path(pods[name])))
    for name in names:
        placed[name] = remaining
        _made_again(api, pods[name], offered)
        accepting[name] = sorted(offered.get(name, frozenset()) & remaining)
    for name in names:
        delete(api, PODS, api.get(pod_path(pods[name])))
    for name in names:
        assert make_pod(api, pods[name])
    return [f"{node.name} stays, but its pods have room: {accepting}"] if all(accepting.values()) else []


def _made_again(api: Api, pod: Json, offered: dict[str, frozenset[str]]) -> str:
    """Make a pod anew, as its controller does. Return what the scheduler says of it, if it does not bind it."""
    offered.pop(name_of(pod), None)
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    assert make_pod(api, {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"], "spec": spec})
    return _tried(api, name_of(pod), offered)


def _tried(api: Api, pod: str, offered: dict[str, frozenset[str]]) -> str:
    """Wait until the scheduler has tried a pod. Return what it says of it."""
    namespace, _, name = pod.partition("/")
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    eventually(lambda: pod in offered or message_of(api.get(path)) is not None, what=f"the scheduler has tried {pod}")
    return message_of(api.get(path)) or ""


def _taints(made: World, name: str) -> list[Json]:
    (node,) = [node for node in made.nodes if _name(node) == name]
    return [*node["spec"]["taints"]]


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])
