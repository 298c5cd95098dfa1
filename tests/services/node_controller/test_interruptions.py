"""Nodes that their cloud takes back: closed once, with the pods that do not tolerate it."""

from __future__ import annotations

from typing import Any

import pytest

from components.objects.node_and_program_rbac import CLUSTER_RULES
from contract.conditions import INTERRUPTION
from contract.kubernetes.events import Events
from contract.labels import INTERRUPTED
from contract.object_names import NODE_CONTROLLER_LEASE
from contract.taints import INTERRUPTED_TAINT
from services.metrics import ServiceMetrics
from services.node_controller.interruptions import SELECTOR, Interruptions, kept
from services.node_controller.metrics import METRICS
from tests.images.fake_api import FakeApi, Held

NAME = "i-1"
PATH = f"/api/v1/nodes/{NAME}"
OTHER = {"key": "nvidia.com/gpu", "value": "yes", "effect": "NoSchedule"}
WHY = "EC2 will terminate this spot instance at 2026-11-23T06:12:00Z"


def node(*taints: dict[str, str], version: str = "7", message: str = WHY) -> dict[str, Any]:
    condition = {"type": INTERRUPTION, "status": "True", "reason": "TakenBack", "message": message}
    return {
        "metadata": {"name": NAME, "resourceVersion": version, "labels": {INTERRUPTED: "true"}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, condition], "images": [{"names": ["x"]}]},
    }


class World:
    def __init__(self) -> None:
        self.api, self.nodes, self.metrics = FakeApi(), Held(), ServiceMetrics(METRICS)
        events = Events(self.api, instance="api-0", component=NODE_CONTROLLER_LEASE)
        self.work = Interruptions(self.api, self.nodes, events=events, metrics=self.metrics)

    def see(self, document: dict[str, Any]) -> bool:
        self.nodes.documents = [kept(document)]
        return self.work.look()


@pytest.fixture(name="world")
def _world() -> World:
    return World()


def test_a_node_that_is_taken_back_is_closed_and_its_pods_end(world: World) -> None:
    assert world.see(node(OTHER)) is False
    spec = {"unschedulable": True, "taints": [OTHER, INTERRUPTED_TAINT]}
    assert world.api.said(PATH) == [{"metadata": {"resourceVersion": "7"}, "spec": spec}]
    assert INTERRUPTED_TAINT["effect"] == "NoExecute", "with a lesser one its pods would run until the machine ends"
    [event] = world.api.said("/events")
    assert (event["type"], event["reason"]) == ("Warning", "NodeInterrupted")
    assert event["message"] == f"closed, and its pods are ended: {WHY}"
    assert "interruptions_total 1" in world.metrics.text()


def test_it_is_done_once(world: World) -> None:
    world.see(node())
    world.see(node())
    world.see(node(INTERRUPTED_TAINT, version="8"))
    assert len(world.api.said(PATH)) == 1


def test_what_failed_is_tried_again_and_what_others_did_is_waited_for(world: World) -> None:
    world.api.refuse = 500
    assert world.see(node()) is True
    world.api.refuse = 409
    assert world.see(node()) is False
    world.api.refuse = 0
    assert world.see(node(version="8")) is False
    assert len(world.api.said(PATH)) == 1


def test_a_node_may_say_nothing_more_than_its_label(world: World) -> None:
    bare = {"metadata": {"name": NAME, "resourceVersion": "1", "labels": {INTERRUPTED: "true"}}}
    world.see(bare)
    assert world.api.said(PATH)[0]["spec"]["taints"] == [INTERRUPTED_TAINT]
    assert world.api.said("/events")[0]["message"].endswith("its node does not say why")


def test_only_longhaul_s_nodes_that_say_so_are_watched_and_little_is_held() -> None:
    assert SELECTOR == "longhaul.dev/interrupted=true,longhaul.dev/site"
    assert "images" not in str(kept(node()))


def test_no_further_right_is_needed() -> None:
    """Pods are deleted by kube-controller-manager, for the taint."""
    verbs = {resource: set(rule["verbs"]) for rule in CLUSTER_RULES for resource in rule.get("resources", ())}
    assert verbs["pods"] == {"list"}
    assert {"watch", "patch"} <= verbs["nodes"]
    assert "pods/eviction" not in verbs
