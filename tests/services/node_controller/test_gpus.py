"""The taint of nodes with GPUs: when it is set and lifted, and that nothing is requested while nothing changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.annotations import GPU_BOOT
from contract.conditions import GPU_HEALTHY
from contract.kubernetes.connection import ApiError
from contract.kubernetes.events import Events
from contract.object_names import NODE_CONTROLLER_LEASE
from contract.taints import PREFLIGHT_TAINT
from services.metrics import ServiceMetrics
from services.node_controller import controller as run
from services.node_controller.gpus import GpuNodes, kept
from services.node_controller.metrics import METRICS
from tests.images.fake_api import FakeApi, Held

NAME = "i-1"
PATH = f"/api/v1/nodes/{NAME}"
OURS = {"key": PREFLIGHT_TAINT, "value": "pending", "effect": "NoSchedule"}
OTHER = {"key": "nvidia.com/gpu", "value": "yes", "effect": "NoSchedule"}


def node(
    *,
    status: str = "True",
    tested: str = "one",
    runs: str = "one",
    taints: tuple[Any, ...] = (OURS,),
    version: str = "7",
) -> dict[str, Any]:
    """Return a Node as the API has it; without ``status``, it has no verdict yet."""
    conditions = [{"type": "Ready", "status": "True"}]
    if status:
        conditions.append({"type": GPU_HEALTHY, "status": status, "reason": "XidFatal", "message": "Xid 79"})
    metadata = {"name": NAME, "resourceVersion": version, "labels": {"a": "b"}}
    return {
        "metadata": {**metadata, **({"annotations": {GPU_BOOT: tested}} if tested else {})},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "nodeInfo": {"bootID": runs} if runs else {},
            "conditions": conditions,
            "images": [{"names": ["x"]}],
        },
    }


class World:
    def __init__(self) -> None:
        self.api, self.nodes, self.metrics = FakeApi(), Held(), ServiceMetrics(METRICS)
        self.gpus = GpuNodes(
            self.api,
            self.nodes,
            events=Events(self.api, instance="api-0", component=NODE_CONTROLLER_LEASE),
            metrics=self.metrics,
        )

    def see(self, **of: Any) -> bool:
        self.nodes.documents = [kept(node(**of))]
        return self.gpus.look()

    @property
    def patches(self) -> list[dict[str, Any]]:
        return self.api.said(PATH)

    @property
    def events(self) -> list[tuple[str, str, str]]:
        return [(one["type"], one["reason"], one["message"]) for one in self.api.said("/events")]


@pytest.fixture(name="world")
def _world() -> World:
    return World()


def test_a_test_that_was_passed_since_the_boot_lifts_it_and_no_other(world: World) -> None:
    assert world.see(taints=(OTHER, OURS)) is False
    assert world.patches == [{"metadata": {"resourceVersion": "7"}, "spec": {"taints": [OTHER]}}]
    [(kind, reason, _)] = world.events
    assert (kind, reason) == ("Normal", "GpusSchedulable")
    assert 'gpu_taints_total{change="lifted"} 1' in world.metrics.text()


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"status": ""}, "its GPUs have not been tested yet"),
        ({"status": "False"}, "XidFatal: Xid 79"),
        ({"status": "Unknown"}, "XidFatal: Xid 79"),
        ({"tested": "zero"}, "its GPUs have not been tested since it was started"),
        ({"tested": ""}, "its GPUs have not been tested since it was started"),
        ({"runs": ""}, "its GPUs have not been tested since it was started"),
        ({"tested": "", "runs": ""}, "its GPUs have not been tested since it was started"),
    ],
)
def test_anything_else_holds_it_back_and_puts_nobody_out(world: World, of: dict[str, Any], why: str) -> None:
    world.see(**of)
    assert world.patches == [], "it has the taint"
    world.see(**of, taints=(OTHER,), version="8")
    assert world.patches == [{"metadata": {"resourceVersion": "8"}, "spec": {"taints": [OTHER, OURS]}}]
    assert world.events == [("Warning", "GpusHeldBack", f"no new pods: {why}")]


def test_what_a_node_writes_of_itself_ends_nothing(world: World) -> None:
    """Reason and message may be missing, a type may occur twice, and a stranger's Node may lack everything else."""
    odd = node(taints=())
    odd["status"]["conditions"] = [
        {"type": GPU_HEALTHY, "status": "True"},
        {"type": GPU_HEALTHY, "status": "False"},
        {},
    ]
    broken = {"metadata": {"name": "a-first", "resourceVersion": "1", "annotations": {}}}
    world.nodes.documents = [broken, kept(odd)]
    assert world.gpus.look() is False
    assert [one["spec"]["taints"] for one in world.patches] == [[OURS]]
    assert world.events[0][2] == "no new pods: no reason: its node does not say what is wrong"


def test_a_start_holds_it_back_until_that_start_is_tested(world: World) -> None:
    world.see(taints=())
    assert world.patches == []
    world.see(runs="two", taints=(), version="8")
    assert [one["spec"]["taints"] for one in world.patches] == [[OURS]]
    world.see(runs="two", version="9")
    assert len(world.patches) == 1
    world.see(tested="two", runs="two", version="10")
    assert [one["spec"]["taints"] for one in world.patches] == [[OURS], []]


def test_the_test_may_be_ready_before_the_kubelet_has_said_which_boot_it_is(world: World) -> None:
    world.see(tested="two", runs="one")
    assert world.patches == []
    world.see(tested="two", runs="two", version="8")
    assert len(world.patches) == 1


def test_nothing_is_asked_twice_of_one_version(world: World) -> None:
    for _ in range(3):
        world.see()
    assert len(world.patches) == 1
    world.see(version="8")
    assert len(world.patches) == 2


def test_while_nothing_changes_nothing_is_asked(world: World) -> None:
    world.see(taints=(OTHER,))
    world.see(status="False")
    assert world.api.written == []


@pytest.mark.parametrize("status", [404, 409])
def test_somebody_else_was_first(world: World, status: int) -> None:
    """The watch brings the newer version."""
    world.api.refuse = status
    assert world.see() is False
    world.api.refuse = 0
    assert world.see() is False
    assert world.patches == []
    world.see(version="8")
    assert len(world.patches) == 1


def test_a_server_that_does_not_answer_is_asked_again(world: World) -> None:
    world.api.refuse = 500
    assert world.see() is True
    world.api.refuse = 0
    assert world.see() is False
    assert len(world.patches) == 1


def test_a_taint_of_the_same_name_that_puts_out_is_somebody_else_s(world: World) -> None:
    evicting = {**OURS, "effect": "NoExecute"}
    world.see(taints=(evicting, OURS))
    assert [one["spec"]["taints"] for one in world.patches] == [[evicting]]


def test_how_many_are_held_back_is_counted(world: World) -> None:
    documents = [kept(node(taints=taints)) for taints in ((), (OURS,), (OTHER,))]
    for index, document in enumerate(documents):
        document["metadata"]["name"] = f"i-{index}"
    world.nodes.documents = documents
    assert world.gpus.by_state() == {("held_back",): 1.0, ("schedulable",): 2.0}


def test_little_of_a_node_is_held() -> None:
    assert "images" not in str(kept(node()))
    assert "Ready" not in str(kept(node()))
    bare = {"metadata": {"name": "a", "resourceVersion": "1"}}
    assert kept(bare)["status"] == {"nodeInfo": {"bootID": ""}, "conditions": []}


def test_the_leader_acts_on_what_its_watch_hears_and_tries_again_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PASS_S", 0.0)
    monkeypatch.setattr(run, "GATHER_S", 0.0)
    patched, failures = threading.Event(), [500, 500]

    class Server(FakeApi):
        def pages(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
            items = [node()] if "labelSelector" in query else []
            yield {"metadata": {"resourceVersion": "1"}, "items": items}

        def patch(self, path: str, document: dict[str, Any], **more: Any) -> dict[str, Any]:
            if failures:
                raise ApiError("busy", status=failures.pop())
            patched.set()
            return super().patch(path, document, **more)

        def hang_up(self) -> None:
            """Do nothing: there is no watch."""

    api, metrics = Server(), ServiceMetrics(METRICS)
    controller = run.Controller(api, instance="api-0", metrics=metrics, build=lambda *_, **__: {})
    worker = threading.Thread(
        target=controller._follow_nodes, args=(controller._gpu_nodes, controller._gpus, controller._gpus_changed)
    )
    worker.start()
    try:
        controller._gpu_nodes._list()
        assert patched.wait(30)
    finally:
        controller.stop()
        worker.join(30)
    assert not worker.is_alive()
    assert api.said(PATH) == [{"metadata": {"resourceVersion": "7"}, "spec": {"taints": []}}]
    assert 'longhaul_node_controller_gpu_nodes{state="held_back"} 1' in metrics.text()
