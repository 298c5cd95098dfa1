"""Pods that do not start, by conditions of a real scheduler: ``status`` names what they wait for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.kubernetes.api import Api
from contract.reasons.status import StatusReason
from longhaul.status import waiting_pods as module
from tests.support.api_server import ApiServer, eventually

CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "later"},
    "provisioner": "nobody.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
    },
}


def claim(name: str, **spec: Any) -> dict[str, Any]:
    size = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name: str, *, claim: str = "", cpu: str = "100m") -> dict[str, Any]:
    container = {"name": "main", "image": "example.com/x", "resources": {"requests": {"cpu": cpu}}}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    spec = {"containers": [container], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


OBJECTS = (
    *(CLASS, claim("bare"), claim("late", storageClassName="later")),
    *(pod("none", claim="bare"), pod("late", claim="late"), pod("large", cpu="64")),
)


@pytest.fixture(name="api")
def _api(cluster: ApiServer, tmp_path: Path) -> Iterator[Api]:
    """The API of a cluster with a scheduler and a node, which has no kubelet."""
    configuration = tmp_path / "scheduler.yaml"
    client = {"kubeconfig": str(cluster.kubeconfig)}
    text = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    text |= {"clientConnection": client, "leaderElection": {"leaderElect": False}}
    configuration.write_text(yaml.safe_dump(text))
    cluster.kubectl("create", "--filename=-", stdin="\n---\n".join(map(json.dumps, (NODE, *OBJECTS))))
    with cluster.scheduler(configuration):
        yield cluster.client(timeout_s=10)


def test_each_pod_has_the_cause_for_which_the_scheduler_leaves_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCHEDULING", timedelta(0))

    def causes() -> dict[str, tuple[StatusReason, str]]:
        return {view.name: (view.reason, view.message) for view in module.waiting_pods(api)}

    eventually(lambda: "Insufficient cpu" in causes().get("large", ("", ""))[1], what="the scheduler has answered")
    eventually(lambda: "nobody.example.com" in causes().get("late", ("", ""))[1], what="it has chosen a node")
    found = causes()
    assert {name: reason for name, (reason, _) in found.items()} == {
        "none": StatusReason.VOLUME_NOT_BOUND,
        "late": StatusReason.VOLUME_NOT_BOUND,
        "large": StatusReason.POD_UNSCHEDULED,
    }
    assert found["none"][1].startswith("its volume claim bare names no storage class")
