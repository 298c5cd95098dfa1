"""Nodes that register as another pool's, at a real API server with our policies: who draws pods is not their word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubelet.authorities import PUBLISHED

from components.objects.node_labels import (
    KEPT,
    MARK,
    PUT_BACK,
    REFUSAL,
    keep_policy,
    mark_policy,
    put_back_policy,
)
from contract.annotations import AUTHORITIES
from contract.labels import GPU_LABEL, POOL_LABEL, SITE_LABEL, UNCHECKED, ZONE_LABEL
from contract.object_names import AUTHORITIES_KEY, LOOKED_AT
from services.node_controller.new_nodes import ABLE
from tests.images.machines import eventually
from tests.services.node_controller.world import ENVIRONMENT, HOST_TOKEN, Caller, World, running
from tests.support.policies import post_policy

pytestmark = pytest.mark.loopback

TAINT = {"key": UNCHECKED, "value": "true", "effect": "NoSchedule"}
SPOT = {"key": "longhaul.dev/spot", "value": "yes", "effect": "NoSchedule"}
CPU = {SITE_LABEL: "use1", POOL_LABEL: "cpu"}
RACK = {SITE_LABEL: "rack", POOL_LABEL: "bare-metal"}
FORGED = {SITE_LABEL: "weu", POOL_LABEL: "h100", ZONE_LABEL: "westeurope-1", GPU_LABEL: "true", "example.com/team": "a"}


@pytest.fixture(name="world", scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory) as world:
        post_policies(world)
        parts: dict[str, Any] = {
            "pools": {"cpu": {**ENVIRONMENT["pools"]["cpu"], "labels": CPU, "taints": [SPOT]}},  # type: ignore[index]
            "rack_labels": {"0": RACK},
            "racks": {name: {**host, "labels": 0} for name, host in ENVIRONMENT["racks"].items()},  # type: ignore[attr-defined]
        }
        path = "/api/v1/namespaces/kube-system/configmaps/longhaul-environment"
        _, found = world.admin.ask("GET", path)
        found["data"]["environment.json"] = json.dumps({**ENVIRONMENT, **parts})
        assert world.admin.ask("PUT", path, found)[0] == 200
        eventually(lambda: looked_at(world), what="the controller says that it looks at new Nodes")
        yield world


def post_policies(world: World) -> None:
    """Make what the objects stack makes."""
    metadata = {"name": LOOKED_AT, "namespace": "kube-system"}
    path, _, _ = ABLE.rpartition("/")
    world.admin.post(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    param = {"name": LOOKED_AT, "namespace": "kube-system", "parameterNotFoundAction": "Allow"}
    post = world.admin.post
    post_policy(post, PUT_BACK, put_back_policy(), kind="Mutating")
    post_policy(post, MARK, mark_policy(), kind="Mutating", paramRef=param)
    post_policy(post, KEPT, keep_policy(), kind="Validating")


def looked_at(world: World) -> bool:
    _, found = world.admin.ask("GET", ABLE)
    return bool(found.get("data", {}).get("looked-at") == "true")


def forged(name: str) -> dict[str, Any]:
    """Return a Node that names another pool, no taint, and that it is ready."""
    conditions = [{"type": "Ready", "status": "True", "reason": "Forged", "message": ""}]
    metadata = {"name": name, "labels": FORGED}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": conditions}}


def registered(kubelet: Caller, name: str) -> dict[str, Any]:
    """Register as another, and return the Node as the API server answers. What the API servers read of policies and
    their parameters lags a little."""

    def marked() -> bool:
        status, answer = kubelet.ask("POST", "/api/v1/nodes?dryRun=All", forged(name))
        return status == 201 and UNCHECKED in answer["metadata"]["labels"]

    eventually(marked, what="new Nodes are marked")
    return kubelet.post("/api/v1/nodes", forged(name))


def opened(world: World, name: str) -> dict[str, Any]:
    """Return the Node once it is open."""

    def found() -> dict[str, Any] | None:
        node = world.node(name)
        return node if node is not None and UNCHECKED not in node["metadata"]["labels"] else None

    node: dict[str, Any] = eventually(found, what="the Node is opened")
    return node


def test_a_machine_of_a_cloud_is_what_its_list_says(world: World) -> None:
    name = world.cloud.put("i-000000c1", "10.65.128.50")
    kubelet = world.join(name)
    made = registered(kubelet, name)
    assert TAINT in made["spec"]["taints"]
    node = opened(world, name)
    assert node["metadata"]["labels"] == {**CPU, ZONE_LABEL: "us-east-1a", "kubernetes.io/hostname": name}
    assert SPOT in node["spec"]["taints"], "the pool's own taint, which it left out"
    assert TAINT not in node["spec"]["taints"]

    def told() -> bool:
        _, events = world.admin.ask("GET", "/api/v1/namespaces/default/events")
        messages = [one["message"] for one in events["items"] if one["reason"] == "NodeLabelsCorrected"]
        return any("longhaul.dev/pool was 'h100', is 'cpu'" in message for message in messages)

    eventually(told, what="an Event says so")


def test_a_host_is_what_the_hosts_file_says(world: World) -> None:
    name = "lab-node-0"
    kubelet = world.join(name, caller=Caller(world.base, world.trust, token=HOST_TOKEN))
    registered(kubelet, name)
    labels = opened(world, name)["metadata"]["labels"]
    assert labels == {**RACK, ZONE_LABEL: "rack", "kubernetes.io/hostname": name}


def test_afterwards_it_stays_so(world: World) -> None:
    name = world.cloud.put("i-000000c2", "10.65.128.51")
    kubelet = world.join(name)
    registered(kubelet, name)
    node = opened(world, name)
    path = f"/api/v1/nodes/{name}/status"
    node["metadata"]["labels"] |= {POOL_LABEL: "h100"}
    status, answer = kubelet.ask("PUT", path, node)
    assert (status, f"{REFUSAL}: {POOL_LABEL}" in answer["message"]) == (403, True)
    # What a kubelet sends at its start: another zone, and its status.
    node["metadata"]["labels"] |= {POOL_LABEL: "cpu", ZONE_LABEL: "us-east-1b"}
    node["status"]["conditions"][0]["reason"] = "KubeletReady"
    assert kubelet.ask("PUT", path, node)[0] == 200
    found = opened(world, name)
    assert found["metadata"]["labels"][ZONE_LABEL] == "us-east-1a"
    assert found["status"]["conditions"][0]["reason"] == "KubeletReady"


def test_a_node_that_was_deleted_and_registers_again_is_looked_at_again(world: World) -> None:
    name = world.cloud.put("i-000000c3", "10.65.128.52")
    kubelet = world.join(name)
    registered(kubelet, name)
    opened(world, name)
    assert kubelet.ask("DELETE", f"/api/v1/nodes/{name}")[0] == 403
    assert world.admin.ask("DELETE", f"/api/v1/nodes/{name}")[0] == 200
    assert TAINT in registered(kubelet, name)["spec"]["taints"]
    assert opened(world, name)["metadata"]["labels"][POOL_LABEL] == "cpu"


def test_it_reads_the_authorities_that_are_published_and_says_of_itself_alone_what_it_believes(world: World) -> None:
    name, other = world.cloud.put("i-000000c5", "10.65.128.54"), world.cloud.put("i-000000c6", "10.65.128.55")
    kubelet = world.join(name)
    registered(kubelet, name)
    registered(world.join(other), other)
    folder, _, own = PUBLISHED.rpartition("/")
    # As kube-controller-manager does, which is not here.
    world.admin.post(
        folder, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": own}, "data": {AUTHORITIES_KEY: "a"}}
    )
    assert kubelet.ask("GET", PUBLISHED)[1]["data"] == {AUTHORITIES_KEY: "a"}
    assert kubelet.ask("PATCH", PUBLISHED, {"data": {AUTHORITIES_KEY: ""}})[0] == 403
    assert kubelet.ask("GET", f"{folder}/{LOOKED_AT}")[0] == 403
    said = {"metadata": {"annotations": {AUTHORITIES: "a"}}}
    assert [kubelet.ask("PATCH", f"/api/v1/nodes/{one}", said)[0] for one in (name, other)] == [200, 403]
