"""A real API server with the objects of random clusters, in which kube-scheduler is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from ipaddress import IPv4Network
from pathlib import Path

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODES, PODS
from contract.taints import CORDON
from lab import tools
from services.autoscaler.cluster_state import (
    ATTACHMENTS,
    CSI_NODES,
    DAEMON_SETS,
    LIMIT_RANGES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    ListedObjects,
)
from services.autoscaler.watched_lists import slim_node, slim_pod
from tests.services.autoscaler.pod_features import HEAVY, SPACES, Json
from tests.services.autoscaler.scheduler_storage import STORAGE, make_storage
from tests.services.autoscaler.scheduler_worlds import World
from tests.support.api_server import ApiServer, api_server

TOOLS = ["etcd", "kube-apiserver", "kube-scheduler", "kubectl"]
CORDONED = {"key": CORDON, "effect": "NoSchedule"}
"""Taint of a cordoned node."""
RANKS = 4
"""Number of daemon sets whose pods are scheduled one after the other."""


@contextmanager
def scheduled_cluster(folder: Path) -> Iterator[ApiServer]:
    """Run an API server with the objects that all random clusters have in common."""
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=print)
    with api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server:
        api = server.client(timeout_s=30.0)
        for name in SPACES:
            about = {"name": name, "labels": {"colour": name}}
            api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": about})
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            api.post(f"/api/v1/namespaces/{name}/serviceaccounts", account)
        overhead = {"podFixed": {"cpu": "250m"}}
        scheduling = {"nodeSelector": {"kubernetes.io/arch": "amd64"}}
        class_ = {"metadata": {"name": HEAVY}, "handler": "heavy", "overhead": overhead, "scheduling": scheduling}
        api.post(RUNTIME_CLASSES, {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **class_})
        for rank in range(RANKS):
            class_ = {"metadata": {"name": f"rank-{rank}"}, "value": 1000 - rank}
            api.post(PRIORITY_CLASSES, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **class_})
        make_storage(api)
        yield server


def watched(listed: ListedObjects) -> ListedObjects:
    """Return listed objects as the watches keep them."""
    pods = [pod for pod in map(slim_pod, listed.pods) if pod]
    return replace(listed, pods=pods, nodes=[*map(slim_node, listed.nodes)])


def build(api: Api, made: World) -> None:
    """Make a cluster's objects."""
    for body in made.csi_nodes:
        api.post(f"{STORAGE}/csinodes", {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", **body})
    for body in made.attachments:
        api.post(ATTACHMENTS, {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", **body})
    for body in made.nodes:
        make_node(api, body)
    for body in (*made.running, *made.waiting):
        if make_pod(api, body) and body in made.ending:
            path = pod_path(body)
            api.delete(path, uid=api.get(path)["metadata"]["uid"], grace_s=600)


def make_node(api: Api, body: Json) -> None:
    """Make a ready node."""
    taints, path = body["spec"]["taints"], f"{NODES}/{body['metadata']['name']}"
    api.post(NODES, body)
    moment = api.now().isoformat(timespec="seconds").replace("+00:00", "Z")
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a test says so"}
    condition = ready | {"lastHeartbeatTime": moment, "lastTransitionTime": moment}
    api.patch(f"{path}/status", {"status": {**body["status"], "conditions": [condition]}})
    # Controllers would exchange the taint that the API server gives a new node; they do not run here.
    api.patch(path, {"spec": {"taints": [*taints, *([CORDONED] if body["spec"].get("unschedulable") else [])] or None}})


def pod_path(body: Json) -> str:
    """Return the path of a pod."""
    return f"/api/v1/namespaces/{body['metadata']['namespace']}/pods/{body['metadata']['name']}"


def make_pod(api: Api, body: Json) -> bool:
    """Make a pod, with its status if it has one. Return False when its features exclude each other, which only the API
    server knows."""
    path = f"/api/v1/namespaces/{body['metadata']['namespace']}/pods"
    try:
        api.post(path, {key: value for key, value in body.items() if key != "status"})
    except ApiError as error:
        if error.status not in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.FORBIDDEN):
            raise
        return False
    if "status" in body:
        api.patch(f"{path}/{body['metadata']['name']}/status", {"status": body["status"]})
    return True


def clear(api: Api) -> None:
    """Delete the objects of a cluster."""
    for path in (PODS, DAEMON_SETS, LIMIT_RANGES, NODES, CSI_NODES, ATTACHMENTS):
        for item in list(api.items(path)):
            delete(api, path, item)


def delete(api: Api, path: str, item: Json) -> None:
    """Delete an object at once."""
    metadata = item["metadata"]
    head, _, kind = path.rpartition("/")
    inside = f"{head}/namespaces/{metadata['namespace']}/{kind}" if "namespace" in metadata else path
    api.delete(f"{inside}/{metadata['name']}", uid=metadata["uid"], grace_s=0)
