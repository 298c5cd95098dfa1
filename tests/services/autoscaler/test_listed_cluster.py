"""A decision from what a real API server lists: defaults, templates, disruption budgets and a kind that it does not
know until it is defined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network
from typing import Any

import pytest

from contract.documents.autoscaler_memory import DecisionMemory, to_document
from contract.kubernetes.api import Api
from lab import tools
from services.autoscaler import cluster_state, decision_memory
from services.autoscaler.cluster_snapshot import ClusterSnapshot, ScalingGroup, ScalingPool
from services.autoscaler.decision_text import action_line
from services.autoscaler.node_objects import MachineFacts
from services.autoscaler.scaling_decision import decide
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine

TOOLS = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
TEAM = "team"
HAS = {"cpu": 16_000, "memory": 64 * 2**30, "pods": 16}
PODS = f"/api/v1/namespaces/{TEAM}/pods"
CONTAINER = {"name": "main", "image": "example.com/none", "resources": {"requests": {"cpu": "6"}}}
REQUESTS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "provisioningrequests.autoscaling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"},
    },
    "spec": {
        "group": "autoscaling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "provisioningrequests", "singular": "provisioningrequest", "kind": "ProvisioningRequest"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server:
        server.start_controllers()
        server.open_namespace(TEAM)
        yield server


def node(api: Api, name: str, **annotations: str) -> None:
    metadata = {"name": name, "labels": {"longhaul.dev/pool": "cpu"}, "annotations": annotations}
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    moment = api.now().isoformat(timespec="seconds").replace("+00:00", "Z")
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "posts ready status"}
    condition = {**ready, "lastHeartbeatTime": moment, "lastTransitionTime": moment}
    has = {"cpu": "16", "memory": "64Gi", "pods": "16"}
    api.patch(
        f"/api/v1/nodes/{name}/status", {"status": {"conditions": [condition], "allocatable": has, "capacity": has}}
    )
    # The controllers would take this taint from a ready node; they are not tested here.
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def pod(api: Api, name: str, *, node: str = "", **metadata: Any) -> None:
    spec = {"containers": [CONTAINER], **({"nodeName": node} if node else {})}
    api.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec})


def said(api: Api) -> list[str]:
    """Return what would be done, for a pool whose machines are the nodes of its name."""
    listed = cluster_state.list_all(api)
    names = [item["metadata"]["name"] for item in listed.nodes]
    machines = {name: MachineFacts(group="cpu", machine=name) for name in names}
    cluster = cluster_state.cluster_state(listed, machines=machines, taints={}, now=api.now())
    group = ScalingGroup(name="cpu", wanted=len(names), machines=len(names), max=9)
    labels = (("longhaul.dev/pool", "cpu"),)
    pool = ScalingPool(name="cpu", site="east", groups=(group,), max=9, capacity=HAS, labels=labels)
    snapshot = ClusterSnapshot(pods=cluster.pods, nodes=cluster.nodes, gangs=cluster.gangs, daemons=cluster.daemons)
    return [action_line(action) for action in decide(snapshot, [pool], listed.memory, api.now()).actions]


def test_what_an_api_server_lists_becomes_a_decision(server: ApiServer) -> None:
    api = server.client(timeout_s=10.0)
    node(api, "busy")
    node(api, "idle")
    pod(api, "work", node="busy")
    pod(api, "waits-0")
    assert said(api) == [], "there is room on what is there"

    movable = {"labels": {"app": "web"}, "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}
    pod(api, "web", node="idle", **movable)
    # Budgets say nothing of pods that have not started.
    api.patch(f"{PODS}/web/status", {"status": {"phase": "Running"}})
    api.delete(f"{PODS}/waits-0", uid=api.get(f"{PODS}/waits-0")["metadata"]["uid"], grace_s=0)
    memory = to_document(DecisionMemory(idle={"idle": api.now() - timedelta(hours=1)}))
    remembered = {"metadata": {"name": "longhaul-autoscaler"}, "data": {"memory": json.dumps(memory)}}
    api.post(decision_memory.MEMORY.rpartition("/")[0], {"apiVersion": "v1", "kind": "ConfigMap", **remembered})
    (cordon,) = said(api)
    assert cordon.startswith("cordon idle: nobody has worked on it for 6")

    budget = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": budget}
    api.post(f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets", body)
    assert said(api) == [], "a node that cannot be emptied is not begun with"
    since = (api.now() - timedelta(minutes=5)).isoformat()
    api.patch("/api/v1/nodes/idle", {"metadata": {"annotations": {"longhaul.dev/scale-in-since": since}}})
    api.patch("/api/v1/nodes/idle", {"spec": {"unschedulable": True}})
    eventually(
        lambda: said(api) == ["hold idle: its pods may not leave yet: team/web: disruption budget web allows none"],
        what="the budget holds the pod",
    )

    server.define(REQUESTS)
    template = {"metadata": {"name": "member"}, "template": {"spec": {"containers": [CONTAINER]}}}
    api.post(f"/api/v1/namespaces/{TEAM}/podtemplates", {"apiVersion": "v1", "kind": "PodTemplate", **template})
    wants = {"provisioningClassName": "gangs.longhaul.dev", "parameters": {"within": "site"}}
    sets = [{"podTemplateRef": {"name": "member"}, "count": 5}]
    request = {"metadata": {"name": "five"}, "spec": {**wants, "podSets": sets}}
    path = cluster_state.REQUESTS.replace("/provisioningrequests", f"/namespaces/{TEAM}/provisioningrequests")
    body = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", **request}
    eventually(lambda: api.post(path, body), what="the new kind is served")
    nowhere = "no node or pool is known to have the label longhaul.dev/site"
    assert said(api)[0] == f"tell team/five: it waits as a whole: {nowhere}"

    api.patch(f"{path}/five", {"spec": {"parameters": None}})
    # One on each of the two nodes, which uncordons the second, and two on each new one.
    assert said(api)[:2] == [
        "uncordon idle: pods that wait have room on it",
        "grow cpu from 2 to 4: for gang team/five, 3 members",
    ]
