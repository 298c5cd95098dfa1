"""Looks that the autoscaler takes right before it writes, and notes that it takes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clouds.base.errors import CloudError
from clouds.base.live_groups import LiveMachine
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.paths import NODES
from contract.reasons.autoscaler import GrowthReason
from contract.taints import CORDON
from services.autoscaler import group_writer, scaling_pass
from services.autoscaler.cluster_state import list_all
from services.autoscaler.evaluation import Evaluation, evaluate
from services.autoscaler.leadership import LeadershipLostError
from services.autoscaler.request_pauses import GroupPauses
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.scaling_pass import PassRunner
from services.autoscaler.termination_check import TerminationCheck
from tests.lab.cloud import sets
from tests.lab.cloud.aws.site import client
from tests.services.autoscaler.acting_cluster import GROUPS, PODS, SPEC, World
from tests.support.api_server import eventually

pytestmark = pytest.mark.engine

IDLE, SETTLED = timedelta(minutes=11), timedelta(minutes=2)
NOTE = {"longhaul.dev/scale-in-since": "2026-03-01T11:55:00Z"}


@pytest.fixture(name="told")
def _told(monkeypatch: pytest.MonkeyPatch) -> list[ScalingAction]:
    """Actions that passes do instead of what they decide."""
    actions: list[ScalingAction] = []

    def decided(*given: Any, **more: Any) -> Evaluation:
        evaluation = evaluate(*given, **more)
        return replace(evaluation, decision=replace(evaluation.decision, actions=tuple(actions)))

    monkeypatch.setattr(scaling_pass, "evaluate", decided)
    return actions


def grow(was: int, size: int, *, pool: str = "h100") -> ScalingAction:
    return ScalingAction(
        verb=Verb.GROW,
        target=GROUPS[pool],
        pool=pool,
        was=was,
        size=size,
        reason=GrowthReason.PODS_WAIT,
        message="a test",
    )


def idle_nodes(world: World, count: int) -> list[str]:
    """Make nodes that the autoscaler has cordoned a while ago, and return their names."""
    world.pods(count)
    with world.process() as process:
        world.settle(process)
    names = sorted(item["metadata"]["name"] for item in world.admin.items(NODES))
    world.end_pods()
    for name in names:
        world.admin.patch(f"{NODES}/{name}", {"metadata": {"annotations": NOTE}, "spec": {"unschedulable": True}})
    world.calls.clear()
    return names


def test_who_uncordons_a_node_takes_the_note_along(world: World) -> None:
    """Otherwise a later cordon by hand would look like the autoscaler's."""
    world.pods(1)
    with world.process() as process:
        world.settle(process)
        (node,) = [item["metadata"]["name"] for item in world.admin.items(NODES)]
        world.admin.patch(f"{NODES}/{node}", {"metadata": {"annotations": NOTE}})
        world.once(process)
        assert "longhaul.dev/scale-in-since" not in (
            world.admin.get(f"{NODES}/{node}")["metadata"]["annotations"] or {}
        )
        world.admin.patch(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
        world.once(process)
    assert world.admin.get(f"{NODES}/{node}")["spec"]["unschedulable"], "a cordon by hand stays"


def test_no_size_goes_below_what_exists(world: World) -> None:
    """A machine that was made after the look that a decision is made on would be the cloud's to choose."""
    world.limit(1)
    world.pods(2)
    with world.process() as process:
        world.once(process)
        group = world.real["h100"]
        eventually(lambda: len(group.look().machines) == 1, what="one is made")
        first, late = group.look(), LiveMachine(id="i-late", node="i-late", current=True)
        looks, later = iter([first]), replace(first, machines=(*first.machines, late))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(group, "look", lambda: next(looks, later))
            world.once(process)
    assert world.sizes()["h100"] == 2
    assert "not done: shrink prod-h100 from 2 to 1: it has 2 machines by now" in world.lines


def test_the_machines_of_one_call_are_looked_at_right_before_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = idle_nodes(world, 4)
    # As if each look took long.
    monkeypatch.setattr(group_writer, "CHECKS_S", -1.0)
    group = world.real["h100"]
    end, ended = group.end, list[str]()

    def ends(machines: Sequence[str], *, replaced: bool = False) -> None:
        end(machines, replaced=replaced)
        ended.extend(machines)
        world.admin.patch(f"{NODES}/{names[-1]}", {"metadata": {"annotations": {"longhaul.dev/keep": "true"}}})

    monkeypatch.setattr(group, "end", ends)
    with world.process() as process:
        world.once(process)
    assert ended == names[:-1]
    assert f"not done: end {names[-1]} of prod-h100: it has longhaul.dev/keep" in world.lines


def test_the_taint_of_a_cordon_may_come_while_a_node_is_ended(world: World) -> None:
    """Kubernetes adds it some time after the cordon."""
    (name,) = idle_nodes(world, 1)

    def taints() -> list[Any]:
        return [
            taint for taint in world.admin.get(f"{NODES}/{name}")["spec"].get("taints", ()) if taint["key"] == CORDON
        ]

    eventually(taints, what="the node has the taint")
    old = list_all(world.api(), DecisionMemory())
    for node in old.nodes:
        node["spec"]["taints"] = [taint for taint in node["spec"]["taints"] if taint["key"] != CORDON]
    with world.process(old=old) as process:
        world.once(process)
    assert world.calls == [f"h100 end {name}"]


def test_one_that_is_gone_keeps_no_other_from_going(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = idle_nodes(world, 3)
    group = world.real["h100"]
    end, calls = group.end, list[list[str]]()

    def ends(machines: Sequence[str], *, replaced: bool = False) -> None:
        if not calls:
            client("ec2").terminate_instances(InstanceIds=names[-1:])
        calls.append(list(machines))
        end(machines, replaced=replaced)

    monkeypatch.setattr(group, "end", ends)
    with world.process() as process:
        world.once(process)
    assert calls == [names, *([name] for name in names)]
    assert world.sizes()["h100"] == 1
    (left,) = (line for line in world.lines if line.startswith("not done: "))
    assert f"end {names[-1]} of prod-h100: " in left


def test_a_node_is_looked_at_after_all_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cloud may take minutes to tell a size, and work may come to the node meanwhile."""
    (node,) = idle_nodes(world, 1)
    size = world.real["h100"].size

    def slowly() -> int:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-9"}, "spec": {**SPEC, "nodeName": node}}
        world.admin.post(PODS, pod)
        return size()

    monkeypatch.setattr(world.real["h100"], "size", slowly)
    with world.process() as process:
        world.once(process)
    assert world.calls == []
    assert f"not done: end {node} of prod-h100: team/train-9 is on it" in world.lines


def test_who_leads_no_longer_after_the_last_look_ends_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_nodes(world, 1)
    leads = [True]

    def slowly(*_: Any) -> str:
        leads.clear()
        return ""

    monkeypatch.setattr(TerminationCheck, "why_not", slowly)
    with world.process(leads=lambda: bool(leads)) as process, pytest.raises(LeadershipLostError):
        world.once(process)
    assert world.calls == []


@pytest.mark.parametrize("size", [1, 2])
def test_growth_that_would_not_raise_a_size_is_left(world: World, told: list[ScalingAction], size: int) -> None:
    """It reckons with ends before it, which may have been left."""
    world.real["h100"].resize(2)
    eventually(lambda: len(world.real["h100"].look().machines) == 2, what="two are made")
    told.append(grow(2, size))
    with world.process() as process:
        world.once(process)
    assert world.calls == []
    assert f"not done: grow prod-h100 from 2 to {size}: its size is 2 already" in world.lines


def closed(process: PassRunner) -> dict[str, str]:
    return {pool: obstacle.message for pool, obstacle in process._groups.closed().items()}


def test_a_write_that_succeeds_makes_the_next_pause_short_again(
    world: World, told: list[ScalingAction], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, busy = [0.0], [True]
    resize = world.real["h100"].resize

    def resizes(count: int) -> None:
        if busy:
            raise CloudError("too many requests", passing=True)
        resize(count)

    monkeypatch.setattr(group_writer, "GroupPauses", lambda: GroupPauses(clock=lambda: seconds[0]))
    monkeypatch.setattr(world.real["h100"], "resize", resizes)
    told.append(grow(0, 1))
    with world.process() as process:
        for pause in (5, 10):
            world.once(process)
            assert closed(process) == {"h100": f"too many requests; it is asked again in {pause} s"}
            seconds[0] += pause
        busy.clear()
        world.once(process)
        assert (world.calls, process._groups.closed()) == (["h100 size 1"], {})
        busy.append(True)
        told[:] = [grow(1, 2)]
        world.once(process)
        assert closed(process) == {"h100": "too many requests; it is asked again in 5 s"}


def test_a_quota_on_azure_is_a_failure_of_its_pool_and_no_pause(world: World, told: list[ScalingAction]) -> None:
    told.append(grow(0, 1, pool="h100-azure"))
    sets.limit(world.live, 0, "OperationNotAllowed")
    try:
        with world.process() as process:
            passed = world.once(process)
            assert passed.refused.keys() == {"h100-azure"}
            assert process._groups.closed() == {}
    finally:
        sets.limit(world.live, None)


def test_growths_of_a_group_keep_to_the_limits_of_its_cloud(world: World, told: list[ScalingAction]) -> None:
    with world.process() as process:
        group = process.reader.groups["prod-h100"].group
        group.grows_apart_s = 60.0
        for size in range(group_writer.GROWTHS + 1):
            told[:] = [grow(size, size + 1)]
            world.once(process)
        left = f"not done: grow prod-h100 from {size} to {size + 1}: it was asked for machines a few seconds ago"
        assert (world.lines[-1], world.sizes()["h100"]) == (left, size)
        group.grows_apart_s = 0.0
        world.once(process)
        assert world.sizes()["h100"] == size + 1
        group.apart_s = 60.0
        told[:] = [grow(size + 1, size + 2)]
        world.once(process)
    assert world.sizes()["h100"] == size + 1
