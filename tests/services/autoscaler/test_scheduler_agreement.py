"""Nodes that take a pod: the autoscaler and the pinned kube-scheduler agree on them, in random clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from ipaddress import IPv4Network
from random import Random

import pytest

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODES, PODS
from lab import tools
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import CordonOrigin
from services.autoscaler.cluster_state import ClusterState, cluster_state, list_all
from services.autoscaler.free_capacity import NodeRoom, Tier
from services.autoscaler.pod_demand import shapes_of
from services.autoscaler.scaling_decision import closed_domains
from tests.services.autoscaler.scheduler_oracle import schedulable_nodes
from tests.services.autoscaler.scheduler_worlds import SPACES, World, world
from tests.support.api_server import ApiServer, api_server

TOOLS = ["etcd", "kube-apiserver", "kube-scheduler", "kubectl"]
WORLDS, MANY = 4, 60
"""Number of clusters in each run of the suite, and in the drill."""
TOLD = {
    "apart by zone": "the zone of a new node may not be known before it is made",
    "near other pods": "a new node is near nobody",
    "spread by zone": "the zone of a new node may not be known before it is made",
}
"""Features that the autoscaler says it does not understand, with the reason: it buys nothing for them, and tells the
pod."""


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server:
        api = server.client(timeout_s=30.0)
        for name in SPACES:
            api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            api.post(f"/api/v1/namespaces/{name}/serviceaccounts", account)
        yield server


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(WORLDS))
def test_nodes_that_take_a_pod_are_those_of_the_scheduler(server: ApiServer, seed: int) -> None:
    assert disagreements(server, seed) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", range(WORLDS, MANY))
def test_nodes_are_those_of_the_scheduler_in_many_clusters(server: ApiServer, seed: int) -> None:
    assert disagreements(server, seed) == []


def disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods for which the autoscaler and the scheduler name different nodes."""
    api = server.client(timeout_s=30.0)
    made = world(Random(seed))
    _clear(api)
    _build(api, made)
    state = cluster_state(list_all(api), machines={}, taints={}, now=api.now())
    expected = schedulable_nodes(server, api)
    actual = accepting_nodes(state)
    told = {pod.id: [str(obstacle.message) for obstacle in pod.shape.unknown] for pod in state.pods}
    assert expected.keys() == actual.keys()
    # A pod that tolerates everything may run on a cordoned node; somebody cordoned it to have it empty.
    cordoned = {body["metadata"]["name"] for body in made.nodes if body["spec"].get("unschedulable")}
    lines, seen = [], Counter[str]()
    for name, (nodes, text) in sorted(expected.items()):
        features = made.features[name.partition("/")[2]]
        seen.update(features)
        if told[name]:
            if not {*features} & TOLD.keys():
                lines.append(f"{name} {features}: told {told[name]}; the scheduler names {sorted(nodes)}")
        elif nodes - cordoned != actual[name]:
            more, fewer = sorted(actual[name] - nodes), sorted(nodes - cordoned - actual[name])
            lines.append(f"{name} {features}: too many {more}, too few {fewer}; the scheduler: {text}")
    print(f"seed {seed}: {len(expected)} pods, {sum(map(bool, told.values()))} told, {dict(seen)}", *lines, sep="\n")
    return lines


def accepting_nodes(state: ClusterState) -> dict[str, frozenset[str]]:
    """Return the nodes on which the autoscaler would place each waiting pod, by the pod's namespace and name."""
    shapes = shapes_of(state.pods, ())
    apart = {term for node in state.nodes for term in node.apart}
    ledger = CapacityLedger(shapes, apart=apart, closed=closed_domains(state.nodes))
    ledger.add_all(
        NodeRoom(node.name, node.kind, Tier.BUSY, ledger.vector(node.free), node)
        for node in state.nodes
        if node.cordon is CordonOrigin.NONE
    )
    result = {}
    for pod in state.pods:
        need = ledger.need(pod.shape, (pod.namespace, pod.labels))
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


def _build(api: Api, made: World) -> None:
    for body in made.nodes:
        taints, path = body["spec"]["taints"], f"{NODES}/{body['metadata']['name']}"
        api.post(NODES, body)
        moment = api.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a test says so"}
        condition = ready | {"lastHeartbeatTime": moment, "lastTransitionTime": moment}
        api.patch(f"{path}/status", {"status": {**body["status"], "conditions": [condition]}})
        # Controllers would exchange the taint that the API server gives a new node; they do not run here.
        cordon = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
        api.patch(path, {"spec": {"taints": [*taints, *(cordon if body["spec"].get("unschedulable") else [])] or None}})
    for body in (*made.running, *made.waiting):
        try:
            api.post(f"/api/v1/namespaces/{body['metadata']['namespace']}/pods", body)
        except ApiError as error:
            # Some features exclude each other, which only the API server knows.
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise


def _clear(api: Api) -> None:
    for item in list(api.items(PODS)):
        path = f"/api/v1/namespaces/{item['metadata']['namespace']}/pods/{item['metadata']['name']}"
        api.delete(path, uid=item["metadata"]["uid"], grace_s=0)
    for item in list(api.items(NODES)):
        api.delete(f"{NODES}/{item['metadata']['name']}", uid=item["metadata"]["uid"])
