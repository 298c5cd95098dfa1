"""A node's reports about its GPUs to the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gpu.own_node import COMPONENT, holds_gpus
from gpu.report import Reporter
from gpu.verdict import BAD, OPEN, judge

from contract.annotations import GPU_BOOT
from contract.conditions import DRIVER_MISMATCH, GPU_HEALTHY
from contract.kubernetes.connection import ApiError
from lab.nvml.machine import H100, StandInMachine, gpu
from tests.images.gpu.told import ILL, NAME, TAINTS, TRIAL, WELL, Machines, Server

Make = Callable[..., Reporter]


def test_the_verdict_the_boot_and_the_labels_are_one_write(server: Server, reporter: Make) -> None:
    assert reporter().step().good
    [written] = server.said("/status")
    metadata, conditions = written["metadata"], written["status"]["conditions"]
    assert metadata["annotations"] == {GPU_BOOT: "one"}
    assert metadata["labels"]["nvidia.com/gpu.product"] == H100.replace(" ", "-")
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [
        (GPU_HEALTHY, "True", "GpusHealthy"),
        (DRIVER_MISMATCH, "False", "OneVersion"),
    ]
    assert conditions[0]["message"] == f"2 GPUs: {H100}; driver 535.309.01, CUDA 12.2"
    assert "taints" not in str(written)
    assert server.node["metadata"]["labels"]["a"] == "b"
    assert server.condition("Ready")[0] == "True"


def test_an_event_for_each_change_and_nothing_where_there_is_none(
    server: Server, machines: Machines, reporter: Make
) -> None:
    own = reporter()
    for machine in (WELL, WELL, ILL, ILL, WELL):
        machines.machine = machine
        own.step()
    assert server.events == [("Normal", "GpusHealthy"), ("Warning", "EccUncorrected"), ("Normal", "GpusHealthy")]
    assert server.writes == 3
    [*_, told] = server.said("/events")
    assert told["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": NAME, "uid": NAME}
    assert told["source"]["component"] == COMPONENT


def test_when_it_changed_is_kept_until_it_changes(server: Server, machines: Machines, reporter: Make) -> None:
    own = reporter()
    own.step()
    server.node["status"]["conditions"][1]["lastTransitionTime"] = "2026-01-02T03:04:05Z"
    reporter(boot="two").step()
    [_, written] = server.said("/status")
    assert written["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:05Z"
    machines.machine = ILL
    own.step()
    [*_, written] = server.said("/status")
    assert written["status"]["conditions"][0]["lastTransitionTime"] != "2026-01-02T03:04:05Z"


def test_every_finding_is_in_the_message(server: Server, machines: Machines, reporter: Make) -> None:
    machines.machine = StandInMachine(gpus=(gpu(0, ecc=0), gpu(1, remap_failed=1)))
    found = reporter().step()
    assert (found.status, found.reason) == (BAD, "EccOff")
    assert f"EccOff {gpu(0).uuid}: ECC is off" in found.message
    assert f"RowRemapFailed {gpu(1).uuid}: " in found.message


def test_a_message_is_never_longer_than_an_event_takes() -> None:
    findings = [{"code": "XidFatal", "gpu": f"GPU-{index}", "message": "x" * 500} for index in range(16)]
    found = judge({"findings": findings, "unseen": []})
    assert len(found.message) == 1024
    assert found.message.count("XidFatal") == 5


def test_a_boot_is_tested_anew_and_later_looks_disturb_nobody(
    server: Server, machines: Machines, reporter: Make
) -> None:
    own = reporter(TRIAL)
    own.step()
    own.step()
    reporter(TRIAL, boot="two").step()
    assert machines.checks == [True, False, True]
    assert server.node["metadata"]["annotations"] == {GPU_BOOT: "two"}
    assert server.events == [("Normal", "GpusHealthy")]


def pod(name: str, *, phase: str = "Running", limits: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "a", "resources": {"limits": limits} if limits else {}}]
    metadata = {"name": name, "namespace": "team"}
    return {"metadata": metadata, "spec": {"containers": containers, **spec}, "status": {"phase": phase}}


def test_the_trial_waits_until_nobody_has_gpus(server: Server, machines: Machines, reporter: Make) -> None:
    server.objects["/api/v1/pods"]["items"] = [pod("train", limits={"nvidia.com/gpu": "2"}), pod("other")]
    own = reporter(TRIAL)
    found = own.step()
    assert (found.status, found.reason, machines.checks) == (OPEN, "GpusInUse", [False])
    assert "waits for the end of team/train" in found.message
    assert ("/api/v1/pods", {"limit": "500", "fieldSelector": f"spec.nodeName={NAME}"}) in server.asked
    # A clear fault is reported at once.
    machines.machine = ILL
    assert own.step().reason == "EccUncorrected"
    machines.machine = WELL
    server.objects["/api/v1/pods"]["items"] = []
    assert own.step().good
    assert machines.checks == [False, False, True]
    assert [reason for _, reason in server.events] == ["GpusInUse", "EccUncorrected", "GpusHealthy"]


def test_it_waits_for_the_taint_before_it_asks_for_pods(server: Server, machines: Machines, reporter: Make) -> None:
    server.node["spec"] = {}
    found = reporter(TRIAL).step()
    assert (found.status, found.reason, machines.checks) == (OPEN, "PreflightTaintMissing", [False])
    assert "/api/v1/pods" not in [path for path, _ in server.asked]
    # From this annotation the controller knows that this boot was not tested yet.
    assert server.node["metadata"]["annotations"] == {GPU_BOOT: "one"}
    server.node["spec"] = {"taints": list(TAINTS)}
    assert reporter(TRIAL).step().good


def test_without_a_trial_there_is_nothing_to_wait_for(server: Server, machines: Machines, reporter: Make) -> None:
    server.node["spec"] = {}
    server.objects["/api/v1/pods"]["items"] = [pod("train", limits={"nvidia.com/gpu": "2"})]
    assert reporter().step().good
    assert machines.checks == [False]


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (pod("a"), False),
        (pod("a", limits={"cpu": "1", "nvidia.com/gpu": "0"}), False),
        (pod("a", limits={"nvidia.com/mig-1g.10gb": "1"}), True),
        (pod("a", limits={"nvidia.com/gpu": "1"}, phase="Pending"), True),
        (pod("a", limits={"nvidia.com/gpu": "1"}, phase="Succeeded"), False),
        (pod("a", limits={"nvidia.com/gpu": "1"}, phase="Failed"), False),
        (pod("a", resourceClaims=[{"name": "gpu"}]), True),
        (pod("a", initContainers=[{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]), True),
    ],
)
def test_who_holds_gpus(found: dict[str, Any], holds: bool) -> None:
    assert holds_gpus(found) is holds


def test_a_look_that_breaks_off_is_a_verdict(server: Server, machines: Machines, reporter: Make) -> None:
    machines.breaks = "the driver hangs"
    found = reporter().step()
    assert (found.status, found.reason, found.message) == (BAD, "PreflightBrokeOff", "the driver hangs")
    assert server.condition(DRIVER_MISMATCH)[0] == OPEN
    assert server.node["metadata"]["labels"]["nvidia.com/gpu.present"] == "true"


def test_what_could_not_be_looked_at_is_not_well() -> None:
    found = judge({"findings": [], "unseen": ["no journal"]})
    assert (found.status, found.reason, found.message) == (OPEN, "GpusNotSeen", "no journal")


def test_a_driver_of_two_versions_is_a_condition_of_its_own(server: Server, machines: Machines, reporter: Make) -> None:
    machines.machine = StandInMachine(nvml_version="12.525.1.2")
    reporter().step()
    assert server.condition(DRIVER_MISMATCH) == ("True", "DriverMismatch")
    assert server.condition(GPU_HEALTHY) == ("False", "DriverMismatch")
    machines.machine = ILL
    reporter().step()
    assert server.condition(DRIVER_MISMATCH) == ("False", "OneVersion")
    machines.machine = StandInMachine(init_result=9)
    reporter().step()
    assert server.condition(DRIVER_MISMATCH) == ("Unknown", "NoDriverAnswers")


def test_events_that_are_refused_stop_nothing(server: Server, reporter: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(path: str, document: Any) -> Any:
        raise ApiError("not allowed", status=403)

    monkeypatch.setattr(server, "post", post)
    assert reporter().step().good
