"""The autoscaler acts on a real API server, as its own user, and on the lab's groups on AWS and Azure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network

import pytest

from clouds.base.errors import CloudError
from lab import tools
from longhaul.autoscaler.guard import LostError
from longhaul.autoscaler.store import MEMORY
from longhaul.drain import NODES
from longhaul.rolling.pool_lock import pool_lock
from tests.lab.cloud.conftest import running
from tests.longhaul.autoscaler.acting import PODS, REQUESTS, SPEC, TEAM, Fuse, Killed, World, clouds
from tests.longhaul.autoscaler.test_cluster import REQUESTS as DEFINITION
from tests.longhaul.autoscaler.test_cluster import TOOLS
from tests.support.api_server import api_server, eventually

pytestmark = pytest.mark.engine

IDLE = timedelta(minutes=11)
"""A little more than a node is kept without work."""
SETTLED = timedelta(minutes=2)
LATER = timedelta(hours=1)


@pytest.fixture(scope="module", name="everything")
def _everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with (
        api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server,
        clouds(tmp_path_factory.mktemp("clouds") / "cloud", running) as (live, site),
    ):
        server.start_controllers()
        server.open_namespace(TEAM)
        server.kubectl("apply", "-f", "-", stdin=json.dumps(DEFINITION))
        server.kubectl("wait", "--for=condition=Established", "crd", DEFINITION["metadata"]["name"])
        world = World(server, live, site)
        eventually(lambda: world.admin.find(REQUESTS), what="the new kind is served")
        yield world


@pytest.fixture(name="world")
def _world(everything: World, monkeypatch: pytest.MonkeyPatch) -> World:
    everything.reset()
    everything.patch(monkeypatch)
    return everything


def test_what_aws_refuses_is_asked_of_azure(world: World) -> None:
    world.limit(1)
    world.pods(3)
    with world.process() as passes:
        world.settle(passes)
    assert world.calls[0] == "h100 size 3"
    assert sorted(world.calls[1:]) == ["h100 size 1", "h100-azure size 2"], "in one pass, side by side"
    assert world.sizes() == {"h100": 1, "h100-azure": 2}
    assert all(pod["spec"].get("nodeName") for pod in world.admin.items(PODS))
    events = world.admin.items(f"/api/v1/namespaces/{TEAM}/events", fieldSelector="source=longhaul-autoscaler")
    told = {item["message"] for item in events}
    assert any(words.startswith("asked westeurope for 2 Standard_ND96isr_H100_v5") for words in told)
    text = world.metrics.text()
    assert 'longhaul_autoscaler_asked_machines_total{pool="h100"} 3\n' in text
    assert 'longhaul_autoscaler_asked_machines_total{pool="h100-azure"} 2\n' in text
    memory = json.loads(world.admin.get(MEMORY)["data"]["memory"])
    assert "do not have sufficient m6id.xlarge capacity" in memory["backoff"]["h100"]["reason"]


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


def story(world: World) -> None:
    """Let machines come, some of them from another cloud, and go. A process that is killed is followed by another."""
    world.limit(1)
    world.pods(2)
    lived(world)
    world.end_pods()
    for ahead in (timedelta(), IDLE, IDLE + SETTLED, LATER, LATER + SETTLED):
        world.ahead = ahead
        lived(world)


def lived(world: World) -> None:
    """Settle, in a new process if one is killed."""
    for _ in range(2):
        try:
            with world.process() as passes:
                world.settle(passes)
            return
        except Killed:
            writes, world.fuse = world.fuse.writes, Fuse()
            world.fuse.writes = writes
    raise AssertionError("killed twice")


def test_a_process_may_be_killed_between_any_two_writes(world: World) -> None:
    story(world)
    asked = [call.partition(" end ")[0] for call in world.calls]
    count = len(world.fuse.writes)
    assert sorted(asked) == ["h100", "h100 size 1", "h100 size 2", "h100-azure", "h100-azure size 1"]
    assert count > 20
    for number in range(1, count + 1):
        world.reset()
        world.fuse.left = number
        story(world)
        again = [call.partition(" end ")[0] for call in world.calls]
        assert sorted(again) == sorted(asked), f"killed after write {number}: {world.fuse.writes[number - 1]}"
        assert world.sizes() == {"h100": 0, "h100-azure": 0}


def test_who_does_not_lead_changes_nothing(world: World) -> None:
    world.pods(1)
    with world.process(leads=lambda: False) as passes, pytest.raises(LostError):
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
    assert any(action.target == "pool h100" and action.verb == "hold" for action in passed.looked.decision.actions)
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
