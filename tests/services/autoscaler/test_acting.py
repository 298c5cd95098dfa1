"""The autoscaler acts on a real API server, as its own user, and on the lab's groups on AWS and Azure."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest

from clouds.base.errors import CloudError
from contract.kubernetes.paths import NODES
from longhaul.cluster.locks import pool_lock
from services.autoscaler.cluster_state import list_all
from services.autoscaler.decision_memory import MEMORY
from services.autoscaler.leadership import LeadershipLostError
from services.autoscaler.scaling_actions import Verb
from tests.services.autoscaler.acting_cluster import (
    PODS,
    REQUESTS,
    SPEC,
    TEAM,
    Fuse,
    Killed,
    World,
)

pytestmark = pytest.mark.engine

IDLE = timedelta(minutes=11)
"""A little more than a node is kept without work."""
SETTLED = timedelta(minutes=2)
LATER = timedelta(hours=1)


def test_what_aws_refuses_is_asked_of_azure(world: World) -> None:
    world.limit(1)
    world.pods(3)
    with world.process() as passes:
        world.settle(passes)
    assert world.calls[0] == "h100 size 3"
    assert sorted(world.calls[1:]) == ["h100 size 1", "h100-azure size 2"], "in one pass, side by side"
    assert world.sizes() == {"h100": 1, "h100-azure": 2}
    assert all(pod["spec"].get("nodeName") for pod in world.admin.items(PODS))
    text = world.metrics.text()
    assert 'longhaul_autoscaler_machines_requested_total{pool="h100",reason="PodsWait"} 3\n' in text
    assert 'longhaul_autoscaler_machines_requested_total{pool="h100-azure",reason="PodsWait"} 2\n' in text
    memory = json.loads(world.admin.get(MEMORY)["data"]["memory"])
    assert "do not have sufficient m6id.xlarge capacity" in memory["backoff"]["h100"]["message"]


def test_a_machine_with_7_of_8_gpus_is_told_and_the_next_pool_is_asked(world: World) -> None:
    world.lacking = {"h100"}
    world.pods(1)
    for ahead in (timedelta(), timedelta(minutes=3), IDLE + timedelta(minutes=3), IDLE + timedelta(minutes=6)):
        world.ahead = ahead
        with world.process() as passes:
            world.settle(passes)
        if not ahead:
            assert world.calls == ["h100 size 1"]
    assert world.calls[:2] == ["h100 size 1", "h100-azure size 1"]
    assert world.calls[2].startswith("h100 end i-")
    assert len(world.calls) == 3
    assert all(pod["spec"].get("nodeName") for pod in world.admin.items(PODS))


def test_pods_are_told_once_what_they_wait_for(world: World) -> None:
    world.pods(4)
    with world.process() as passes:
        for _ in range(4):
            world.once(passes)
    path = f"/api/v1/namespaces/{TEAM}/events"
    events = [one for one in world.admin.items(path) if one["source"].get("component") == "longhaul-autoscaler"]
    assert len(events) == 3, "not every pod of one kind, and none twice"
    assert {one["involvedObject"]["name"] for one in events} == {"train-0", "train-1", "train-2"}
    assert all(one["message"].startswith("asked us-east-1 for 4 p5.48xlarge ") for one in events)


def test_exactly_the_idle_node_goes(world: World) -> None:
    world.pods(4)
    with world.process() as passes:
        world.settle(passes)
    on = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in world.admin.items(PODS)}
    world.end_pods(1, 2, 3)
    world.admin.patch(f"{NODES}/{on['train-2']}", {"spec": {"unschedulable": True}})
    world.admin.patch(f"{NODES}/{on['train-3']}", {"metadata": {"annotations": {"longhaul.dev/keep": "true"}}})
    world.calls.clear()
    with world.process() as passes:
        world.settle(passes)
    assert world.calls == [], "its clock has only begun"
    world.ahead = IDLE
    with world.process() as passes:
        world.settle(passes)
        cordoned = world.admin.get(f"{NODES}/{on['train-1']}")
    assert cordoned["spec"]["unschedulable"]
    assert "longhaul.dev/scale-in-since" in cordoned["metadata"]["annotations"]
    assert world.calls == []
    world.ahead = IDLE + SETTLED
    with world.process() as passes:
        world.settle(passes)
    assert world.calls == [f"h100 end {on['train-1']}"]
    left = {item["metadata"]["name"] for item in world.admin.items(NODES)}
    assert left == {on["train-0"], on["train-2"], on["train-3"]}
    assert world.sizes()["h100"] == 3


def test_nothing_is_done_on_what_was_true_once(world: World) -> None:
    world.pods(1)
    with world.process() as passes:
        world.settle(passes)
    world.end_pods()
    (node,) = [item["metadata"]["name"] for item in world.admin.items(NODES)]
    for ahead in (timedelta(), IDLE):
        world.ahead = ahead
        with world.process() as passes:
            world.settle(passes)
    world.ahead = IDLE + SETTLED
    world.calls.clear()
    old = list_all(world.api())
    world.admin.patch(f"{NODES}/{node}", {"metadata": {"annotations": {"longhaul.dev/keep": "true"}}})
    with world.process(old=old) as passes:
        world.once(passes)
    assert world.lines[-1] == f"not done: end {node} of prod-h100: it has longhaul.dev/keep"
    world.admin.patch(f"{NODES}/{node}", {"metadata": {"annotations": {"longhaul.dev/keep": None}}})
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-7"}, "spec": {**SPEC, "nodeName": node}}
    world.admin.post(PODS, body)
    with world.process(old=old) as passes:
        world.once(passes)
    assert world.lines[-1] == f"not done: end {node} of prod-h100: team/train-7 is on it"
    assert world.calls == []


def test_a_size_that_somebody_else_set_meanwhile_is_looked_at_first(world: World) -> None:
    with world.process() as passes:
        world.once(passes)
        world.real["h100"].resize(1)
        world.pods(2)
        passes.run()
        assert (world.calls, world.lines[-1]) == (
            [],
            "not done: grow prod-h100 from 0 to 2: its size is 1 and no longer 0",
        )
        world.settle(passes)
    assert world.calls == ["h100 size 2"]


def test_a_gang_comes_whole_and_is_told_so(world: World) -> None:
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "member"}, "template": {"spec": SPEC}}
    if world.admin.find(f"/api/v1/namespaces/{TEAM}/podtemplates/member") is None:
        world.admin.post(f"/api/v1/namespaces/{TEAM}/podtemplates", body)
    sets = [{"podTemplateRef": {"name": "member"}, "count": 6}]
    spec = {"provisioningClassName": "gangs.longhaul.dev", "podSets": sets}
    made = world.admin.post(
        REQUESTS,
        {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": {"name": "six"},
            "spec": spec,
        },
    )
    try:
        with world.process() as passes:
            world.once(passes)
            assert sorted(world.calls) == ["h100 size 4", "h100-azure size 2"]
            assert conditions(world)["Accepted"]["status"] == "True"
            world.once(passes)
            assert conditions(world)["Provisioned"]["status"] == "False"
            world.settle(passes)
        provisioned = conditions(world)["Provisioned"]
        assert (provisioned["status"], provisioned["message"]) == ("True", "all 6 members have room on 6 nodes")
        assert len(world.calls) == 2, "one call a group"
        world.ahead = IDLE
        with world.process() as passes:
            world.once(passes)
        assert conditions(world)["BookingExpired"]["status"] == "True"
    finally:
        world.admin.delete(f"{REQUESTS}/six", uid=made["metadata"]["uid"])


def conditions(world: World) -> dict[str, dict[str, str]]:
    return {one["type"]: one for one in world.admin.get(f"{REQUESTS}/six")["status"]["conditions"]}


def machines_come(world: World) -> None:
    world.limit(1)
    world.pods(2)
    lived(world)


def machines_go(world: World) -> None:
    world.end_pods()
    for ahead in (timedelta(), IDLE, IDLE + SETTLED):
        world.ahead = ahead
        lived(world)


def lived(world: World) -> None:
    """Settle, in a new process if one is killed."""
    for _ in range(2):
        try:
            with world.process() as passes:
                world.settle(passes, quiet=1)
            return
        except Killed:
            world.fuse = Fuse(writes=world.fuse.writes)
    raise AssertionError("killed twice")


def asked(world: World) -> list[str]:
    """Return what was asked of the clouds; machines have other names each time."""
    return sorted(call.partition(" end ")[0] for call in world.calls)


@pytest.mark.drill
def test_a_process_may_be_killed_between_any_two_writes(world: World) -> None:
    """Nothing is asked twice, and the end is the same."""
    machines_come(world)
    first = len(world.fuse.writes)
    assert asked(world) == ["h100 size 1", "h100 size 2", "h100-azure size 1"]
    machines_go(world)
    whole, last = asked(world), len(world.fuse.writes)
    assert whole == ["h100", "h100 size 1", "h100 size 2", "h100-azure", "h100-azure size 1"]
    assert 10 < first < last - 5
    for number in range(1, first + 1):
        world.reset()
        world.fuse.left = number
        machines_come(world)
        assert asked(world) == whole[1:3] + whole[4:], f"killed after {world.fuse.writes[number - 1]}"
        assert world.sizes() == {"h100": 1, "h100-azure": 1}
    for number in range(1, last - first + 1):
        world.reset()
        machines_come(world)
        world.fuse = Fuse(left=number)
        machines_go(world)
        assert asked(world) == whole, f"killed after {world.fuse.writes[number - 1]}"
        assert world.sizes() == {"h100": 0, "h100-azure": 0}


def test_who_does_not_lead_changes_nothing(world: World) -> None:
    world.pods(1)
    with world.process(leads=lambda: False) as passes, pytest.raises(LeadershipLostError):
        world.once(passes)
    assert (world.calls, world.admin.find(MEMORY)) == ([], None)


def test_a_cloud_that_is_down_delays_nobody_else(world: World) -> None:
    def down() -> None:
        raise CloudError("Azure does not answer", passing=True, answered=False)

    world.trouble["h100-azure"] = down
    world.pods(2)
    with world.process() as passes:
        world.settle(passes)
        assert world.calls == ["h100 size 2"]
        assert any(line.startswith("not seen: prod-h100-azure: Azure does not answer") for line in world.lines)
    world.trouble.clear()
    world.pods(3, first=2)
    with world.process() as passes:
        world.settle(passes)
    assert world.sizes() == {"h100": 4, "h100-azure": 1}


def test_a_pool_that_is_refused_at_once_is_left_and_the_next_is_asked(world: World) -> None:
    refuses = world.real["h100"].resize

    def resize(count: int) -> None:
        if count > 1:
            raise CloudError("the quota is exceeded")
        refuses(count)

    world.real["h100"].resize = resize  # type: ignore[method-assign]
    try:
        world.pods(2)
        with world.process() as passes:
            assert world.once(passes).refused.keys() == {"h100"}
            world.once(passes)
    finally:
        world.real["h100"].resize = refuses  # type: ignore[method-assign]
    assert world.calls[-1] == "h100-azure size 2"


def test_what_a_cloud_is_slow_to_take_is_bought_nowhere_else(world: World) -> None:
    resize, go = world.real["h100"].resize, threading.Event()

    def slow(count: int) -> None:
        go.wait()
        resize(count)

    world.real["h100"].resize = slow  # type: ignore[method-assign]
    try:
        world.pods(2)
        with world.process() as passes:
            passes.run(limit_s=2.5)
            again = passes.run(limit_s=2.5)
            go.set()
            world.settle(passes)
    finally:
        go.set()
        world.real["h100"].resize = resize  # type: ignore[method-assign]
    assert [action.verb for action in again.evaluation.decision.actions] == [Verb.TELL]
    assert world.calls == ["h100 size 2"]


def test_when_much_is_silent_nothing_is_touched(world: World) -> None:
    world.pods(4)
    with world.process() as passes:
        world.settle(passes)
    names = sorted(item["metadata"]["name"] for item in world.admin.items(NODES))
    world.end_pods()
    world.calls.clear()
    for name in names[:2]:
        world.health(name, "Unknown")
    for ahead in (timedelta(), 2 * LATER):
        world.ahead = ahead
        with world.process() as passes:
            passed = world.once(passes)
    assert any(action.target == "pool h100" and action.verb == "hold" for action in passed.evaluation.decision.actions)
    assert world.calls == []
    for name in names[:2]:
        world.health(name, "True")
    for ahead in (2 * LATER, 2 * LATER + SETTLED):
        world.ahead = ahead
        with world.process() as passes:
            world.settle(passes)
    assert [call.partition(" end ")[0] for call in world.calls] == ["h100"], "it goes on by itself, one at a time"


def test_a_roll_keeps_its_pool(world: World) -> None:
    world.pods(1)
    with world.process() as passes, pool_lock(world.admin, "h100"):
        world.once(passes)
        assert world.calls == ["h100-azure size 1"]
