"""Nodes that have just registered: corrected by what is known of their machines, and opened."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.base.machine_lists import ListedMachine
from contract.documents.node_controller import NodeEnvironment, NodeHost
from contract.documents.pools import DeclaredPool, NodeTaint
from contract.kubernetes.connection import ApiError
from contract.kubernetes.events import Events
from contract.labels import (
    GPU_LABEL,
    GROUP_LABEL,
    HOSTS_POOL_LABEL,
    POOL_LABEL,
    SITE_LABEL,
    UNCHECKED,
    ZONE_LABEL,
)
from contract.object_names import NODE_CONTROLLER_LEASE
from services.metrics import ServiceMetrics
from services.node_controller.inventory import Inventory
from services.node_controller.metrics import METRICS
from services.node_controller.new_nodes import (
    ABLE,
    PREFLIGHT,
    Known,
    NewNodes,
    Truth,
    corrections,
    kept,
    truth,
)
from services.node_controller.sources import DeclaredHosts
from tests.images.fake_api import FakeApi, Held

NAME = "i-1"
PATH = f"/api/v1/nodes/{NAME}"
MARK = {"key": UNCHECKED, "value": "true", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
SPOT = {"key": "longhaul.dev/spot", "value": "", "effect": "NoSchedule"}
LABELS = {
    SITE_LABEL: "use1",
    POOL_LABEL: "cpu",
    ZONE_LABEL: "us-east-1a",
    "kubernetes.io/hostname": NAME,
}
MACHINE = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "longhaul.dev/image": "1.0.0"}


def node(*taints: dict[str, str], version: str = "7", **labels: str) -> dict[str, Any]:
    given = {**LABELS, **MACHINE, UNCHECKED: "true", **labels}
    return {
        "metadata": {"name": NAME, "resourceVersion": version, "labels": given},
        "spec": {"taints": [*taints, MARK]},
        "status": {"images": [{"names": ["x"]}]},
    }


class World:
    def __init__(self) -> None:
        self.api, self.nodes, self.metrics = FakeApi(), Held(), ServiceMetrics(METRICS)
        self.truth: Truth | None = Truth(labels=LABELS)
        events = Events(self.api, instance="api-0", component=NODE_CONTROLLER_LEASE)
        self.work = NewNodes(self.api, self.nodes, known=lambda name: self.truth, events=events, metrics=self.metrics)

    def see(self, document: dict[str, Any]) -> bool:
        self.nodes.documents = [kept(document)]
        return self.work.look()

    def patched(self) -> dict[str, Any]:
        [found] = self.api.said(PATH)
        return dict(found)


@pytest.fixture(name="world")
def _world() -> World:
    return World()


def test_a_node_that_says_what_is_so_is_opened(world: World) -> None:
    assert world.see(node(NOT_READY)) is False
    metadata = {"resourceVersion": "7", "labels": {UNCHECKED: None}}
    assert world.patched() == {"metadata": metadata, "spec": {"taints": [NOT_READY]}}
    assert world.api.said("/events") == []


def test_one_that_says_something_else_is_corrected_and_told_of(world: World) -> None:
    world.see(node(**{POOL_LABEL: "h100", GPU_LABEL: "true", "example.com/team": "a"}))
    corrected = {POOL_LABEL: "cpu", GPU_LABEL: None, "example.com/team": None, UNCHECKED: None}
    assert world.patched()["metadata"]["labels"] == corrected
    [event] = world.api.said("/events")
    assert (event["type"], event["reason"]) == ("Warning", "NodeLabelsCorrected")
    assert "longhaul.dev/pool was 'h100', is 'cpu'" in event["message"]
    assert "labels_corrected_total 1" in world.metrics.text()


def test_an_event_names_a_few(world: World) -> None:
    world.see(node(**{f"example.com/{index}": "a" for index in range(40)}))
    [event] = world.api.said("/events")
    assert event["message"].endswith("; and 35 more")


def test_taints_that_it_left_out_are_put_there(world: World) -> None:
    world.truth = Truth(labels={**LABELS, GPU_LABEL: "true"}, taints=(SPOT, PREFLIGHT))
    world.see(node(NOT_READY, SPOT))
    assert world.patched()["spec"]["taints"] == [NOT_READY, SPOT, PREFLIGHT]


def test_a_taint_with_another_pools_value_is_replaced(world: World) -> None:
    world.truth = Truth(labels=LABELS, taints=(SPOT,))
    world.see(node({**SPOT, "value": "another"}, NOT_READY))
    assert world.patched()["spec"]["taints"] == [NOT_READY, SPOT]


def test_one_that_only_claimed_gpus_is_not_held_back_for_their_test(world: World) -> None:
    """The label may have been believed meanwhile, and the taint set for it."""
    world.see(node(NOT_READY, PREFLIGHT, **{GPU_LABEL: "true"}))
    assert world.patched()["metadata"]["labels"][GPU_LABEL] is None
    assert world.patched()["spec"]["taints"] == [NOT_READY]


def test_while_nothing_is_known_it_waits(world: World) -> None:
    world.truth = None
    assert world.see(node()) is True, "it is looked at again"
    assert world.api.written == []
    world.truth = Truth(labels=LABELS)
    assert world.see(node()) is False
    assert len(world.api.said(PATH)) == 1


def test_what_failed_is_tried_again(world: World) -> None:
    world.api.refuse = 500
    assert world.see(node()) is True
    world.api.refuse = 409
    assert world.see(node()) is False, "the watch brings the newer version"
    world.api.refuse = 0
    world.see(node(version="8"))
    assert len(world.api.said(PATH)) == 1


def test_a_node_with_gpus_describes_them_itself() -> None:
    described = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert corrections({**LABELS, **described}, LABELS) == dict.fromkeys(described)
    gpus = {**LABELS, GPU_LABEL: "true"}
    assert corrections({**LABELS, **described}, gpus) == {GPU_LABEL: "true"}
    assert corrections({**gpus, GPU_LABEL: "false"}, gpus) == {GPU_LABEL: "true"}


ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="",
    sites={},
    pools={
        "cpu": DeclaredPool(
            name="cpu", site="use1", groups=("lab-cpu",), labels={POOL_LABEL: "cpu"}, taints=(NodeTaint(**SPOT),)
        ),
        "h100": DeclaredPool(name="h100", site="weu", groups=("lab-h100",), labels={GPU_LABEL: "true"}),
        "old": DeclaredPool(name="old", site="use1", groups=("lab-old",)),
    },
    hosts={"lab-a": NodeHost(name="lab-a", site="rack", address="10.0.0.1", labels={POOL_LABEL: HOSTS_POOL_LABEL})},
)


def machine(pool: str, *, name: str = NAME, zone: str = "us-east-1a", group: str = "") -> ListedMachine:
    return ListedMachine(name=name, site="use1", pool=pool, zone=zone, group=group, addresses=frozenset())


def test_what_is_so_follows_from_the_list_and_the_document() -> None:
    own = {ZONE_LABEL: "us-east-1a", "kubernetes.io/hostname": NAME}
    assert truth(ENVIRONMENT, machine("cpu")) == Truth(labels={POOL_LABEL: "cpu", **own}, taints=(SPOT,))
    labels = {GPU_LABEL: "true", GROUP_LABEL: "lab-h100-s1", **own}
    assert truth(ENVIRONMENT, machine("h100", group="lab-h100-s1")) == Truth(labels=labels, taints=(PREFLIGHT,))
    found = truth(ENVIRONMENT, machine(HOSTS_POOL_LABEL, name="lab-a", zone="rack"))
    assert found is not None
    assert found.labels[POOL_LABEL] == HOSTS_POOL_LABEL


@pytest.mark.parametrize(
    "unknown", [machine("old"), machine("gone"), machine("cpu", zone=""), machine(HOSTS_POOL_LABEL, name="lab-b")]
)
def test_what_is_not_known_is_not_guessed(unknown: ListedMachine) -> None:
    assert truth(ENVIRONMENT, unknown) is None


def test_a_machine_that_no_list_has_is_asked_for() -> None:
    inventory = Inventory(DeclaredHosts("use1", {NAME: machine("cpu")}))
    known = Known(ENVIRONMENT, [inventory])
    assert known(NAME) is None
    inventory.ask()
    assert known(NAME) is not None


def test_that_new_nodes_are_looked_at_is_announced_once(world: World) -> None:
    world.api.refuse = 404
    with pytest.raises(ApiError):
        world.work.announce()
    world.api.refuse = 0
    for _ in range(3):
        world.work.announce()
    assert world.api.said(ABLE) == [{"data": {"looked-at": "true"}}]


def test_little_of_a_node_is_held() -> None:
    assert "images" not in str(kept(node()))
    assert kept({"metadata": {"name": "a", "resourceVersion": "1"}})["spec"] == {"taints": []}
