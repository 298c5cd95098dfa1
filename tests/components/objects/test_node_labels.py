"""Changes of a Node by its node, tried with a node's certificate at a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from components.model.secrets.certificates import NODE_CONTROLLER
from components.objects.node_labels import COMPARED, REFUSAL
from components.objects.node_permissions import NOTED
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODES
from contract.labels import (
    GPU_LABEL,
    IMAGE_LABEL,
    INTERRUPTED,
    MACHINE_LABELS,
    POOL_LABEL,
    RDMA_LABEL,
    REGION_LABEL,
    SITE_LABEL,
    UNCHECKED,
    ZONE_LABEL,
)
from contract.object_names import LOOKED_AT, LOOKED_AT_KEY
from contract.users import NODES_GROUP
from lab.providers.kubernetes_client import ObjectClient
from lab.providers.kubernetes_config import load_access
from tests.support.api_server import ApiServer, eventually

pytestmark = pytest.mark.engine

NAME = "i-1"
NODE = f"{NODES}/{NAME}"
TEAM = "example.com/team"
STATUS = f"{NODE}/status"
CONFIGMAP = f"/api/v1/namespaces/kube-system/configmaps/{LOOKED_AT}"
MERGE = "application/merge-patch+json"
LABELS = {
    **dict.fromkeys(COMPARED, "own"),
    "kubernetes.io/hostname": NAME,
    SITE_LABEL: "use1",
    POOL_LABEL: "cpu",
    IMAGE_LABEL: "1.0.0",
    TEAM: "a",
}
TAINT = {"key": UNCHECKED, "value": "true", "effect": "NoSchedule"}
PRODUCT = "nvidia.com/gpu.product"


@pytest.fixture(name="node")
def _node(applied: ApiServer) -> Iterator[Path]:
    """Kubeconfig of the node, whose Node there is, as :data:`LABELS` say."""
    kubeconfig = applied.user(f"system:node:{NAME}", organizations=(NODES_GROUP,))
    eventually(lambda: guarded(applied, kubeconfig), what="the policies hold")
    yield kubeconfig
    delete(applied)
    looked_at(applied, None)


def guarded(applied: ApiServer, kubeconfig: Path) -> bool:
    """Make the node's Node, and return whether it is kept as it is."""
    delete(applied)
    create(applied.kubeconfig, registered())
    patch = {"metadata": {"labels": {POOL_LABEL: "other", ZONE_LABEL: "other"}}}
    tried = REFUSAL in written(kubeconfig, patch)
    written(kubeconfig, {"metadata": {"labels": {ZONE_LABEL: "other"}}})
    return tried and labels(applied) == LABELS


def registered() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": LABELS}}


def client(kubeconfig: Path) -> ObjectClient:
    """Return a client: to start kubectl takes as long as fifty requests, and each test makes a dozen."""
    return ObjectClient(load_access(str(kubeconfig)))


def create(kubeconfig: Path, node: dict[str, Any]) -> None:
    """Make the Node as somebody."""
    client(kubeconfig).send("POST", NODES, body=node)


def delete(applied: ApiServer) -> None:
    """Delete the Node if there is one."""
    try:
        client(applied.kubeconfig).send("DELETE", NODE)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def live(applied: ApiServer) -> dict[str, Any]:
    """Return the Node."""
    return dict(client(applied.kubeconfig).send("GET", NODE))


def written(kubeconfig: Path, patch: dict[str, Any], *, path: str = NODE) -> str:
    """Return the API server's refusal of a change; empty when it is made."""
    try:
        client(kubeconfig).send("PATCH", path, body=patch, content_type=MERGE)
    except ApiError as error:
        return str(error)
    return ""


def labels(applied: ApiServer) -> dict[str, str]:
    return dict(live(applied)["metadata"]["labels"])


def looked_at(applied: ApiServer, value: str | None) -> None:
    """Say as the node controller, or take back as an administrator, that new Nodes are looked at."""
    who = applied.user(NODE_CONTROLLER) if value else applied.kubeconfig
    assert not written(who, {"data": {LOOKED_AT_KEY: value}}, path=CONFIGMAP)


@pytest.mark.parametrize("path", [NODE, STATUS], ids=["node", "status"])
@pytest.mark.parametrize("value", ["other", None], ids=["changed", "removed"])
@pytest.mark.parametrize("key", [SITE_LABEL, POOL_LABEL, TEAM, IMAGE_LABEL])
def test_no_node_changes_where_pods_go(applied: ApiServer, node: Path, key: str, value: str | None, path: str) -> None:
    assert f"{REFUSAL}: {key}" in written(node, {"metadata": {"labels": {key: value}}}, path=path)
    assert labels(applied) == LABELS


@pytest.mark.parametrize("key", ["longhaul.dev/roll-target", "longhaul.dev/keep", "longhaul.dev/scale-in-since"])
@pytest.mark.parametrize("path", [NODE, STATUS], ids=["node", "status"])
def test_no_node_writes_what_others_note_of_it(applied: ApiServer, node: Path, key: str, path: str) -> None:
    assert f"{NOTED}: {key}" in written(node, {"metadata": {"annotations": {key: "true"}}}, path=path)


@pytest.mark.parametrize("key", [GPU_LABEL, RDMA_LABEL, PRODUCT, UNCHECKED])
def test_no_node_adds_what_it_is_not(applied: ApiServer, node: Path, key: str) -> None:
    assert f"{REFUSAL}: {key}" in written(node, {"metadata": {"labels": {key: "true"}}})
    assert labels(applied) == LABELS


def test_what_kubelets_compare_is_put_back_and_not_refused(applied: ApiServer, node: Path) -> None:
    """A kubelet sends all of it at its start, with its status, and would try again until it succeeds."""
    change = {"metadata": {"labels": dict.fromkeys(COMPARED, "other")}, "status": {"phase": "Running"}}
    assert not written(node, change, path=STATUS)
    found = live(applied)
    assert found["metadata"]["labels"] == LABELS
    assert found["status"]["phase"] == "Running"
    assert not written(node, {"metadata": {"labels": dict.fromkeys(COMPARED)}})
    assert labels(applied) == LABELS


def test_a_label_that_its_node_lacks_is_not_added_either(applied: ApiServer, node: Path) -> None:
    assert not written(applied.kubeconfig, {"metadata": {"labels": {REGION_LABEL: None}}})
    assert not written(node, {"metadata": {"labels": {REGION_LABEL: "other"}}})
    assert REGION_LABEL not in labels(applied)


@pytest.mark.parametrize("key", [key for key in MACHINE_LABELS if not key.startswith("beta.")])
def test_but_for_what_kind_of_machine_it_is(applied: ApiServer, node: Path, key: str) -> None:
    """Those with ``beta`` follow from the others by kube-controller-manager."""
    assert not written(applied.kubeconfig, {"metadata": {"labels": {key: None}}})
    for value in ("first", "second"):
        assert not written(node, {"metadata": {"labels": {key: value}}}, path=STATUS)
    assert labels(applied)[key] == "first"


def test_a_node_says_what_it_alone_knows(applied: ApiServer, node: Path) -> None:
    assert not written(node, {"metadata": {"labels": {INTERRUPTED: "true"}}}, path=STATUS)
    assert not written(applied.kubeconfig, {"metadata": {"labels": {GPU_LABEL: "true"}}})
    for value in ("NVIDIA-A", "NVIDIA-B", None):
        assert not written(node, {"metadata": {"labels": {PRODUCT: value}}})
    assert REFUSAL in written(node, {"metadata": {"labels": {GPU_LABEL: None}}})


def test_others_may_change_every_label(applied: ApiServer, node: Path) -> None:
    for who in (applied.kubeconfig, applied.user(NODE_CONTROLLER)):
        change = {"metadata": {"labels": {POOL_LABEL: None, ZONE_LABEL: "b", TEAM: "c"}}}
        assert not written(who, change)
        back = {"metadata": {"labels": LABELS}}
        assert not written(who, back)


def test_a_node_deletes_no_node(applied: ApiServer, node: Path) -> None:
    assert "Forbidden" in applied.kubectl("delete", "node", NAME, kubeconfig=node, check=False)


def test_before_the_controller_says_so_nobody_s_node_is_marked(applied: ApiServer, node: Path) -> None:
    eventually(lambda: not marked(applied, node), what="new Nodes are not marked")
    assert UNCHECKED not in labels(applied)
    assert UNCHECKED not in [taint["key"] for taint in live(applied)["spec"].get("taints", [])]


def test_then_every_node_that_a_node_registers_waits_for_it(applied: ApiServer, node: Path) -> None:
    looked_at(applied, "true")
    eventually(lambda: marked(applied, node), what="new Nodes are marked")
    taken = {"metadata": {"labels": {UNCHECKED: None}}}
    assert f"{REFUSAL}: {UNCHECKED}" in written(node, taken)
    assert "not allowed to modify taints" in written(node, {"spec": {"taints": []}})
    assert marked(applied, node, {"spec": {"taints": [TAINT]}}), "once is enough"
    own = {"spec": {"taints": [{"key": UNCHECKED, "effect": "PreferNoSchedule"}]}}
    assert marked(applied, node, own), "a weaker one of that name does not count"
    delete(applied)
    create(applied.kubeconfig, registered())
    assert UNCHECKED not in labels(applied), "an administrator knows what they do"


def marked(applied: ApiServer, node: Path, more: dict[str, Any] | None = None) -> bool:
    """Return whether the Node that the node makes has label and taint."""
    delete(applied)
    create(node, {**registered(), **(more or {})})
    found = live(applied)
    return found["metadata"]["labels"].get(UNCHECKED) == "true" and found["spec"].get("taints", []).count(TAINT) == 1


def test_the_controller_opens_it(applied: ApiServer, node: Path) -> None:
    looked_at(applied, "true")
    eventually(lambda: marked(applied, node), what="new Nodes are marked")
    change = {"metadata": {"labels": {UNCHECKED: None, POOL_LABEL: "true"}}, "spec": {"taints": []}}
    assert not written(applied.user(NODE_CONTROLLER), change)
    assert UNCHECKED not in labels(applied)
