"""Pods that are being ended: their room is their successors', as long as they end in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from services.autoscaler.cluster_state import REQUESTS
from tests.services.autoscaler.api_objects import Object, node, pod
from tests.services.autoscaler.listed_cluster import NOW, Lists, Standing, actions, cpu_node, machine
from tests.services.autoscaler.test_requirements import TOLERATES, gang
from tests.services.autoscaler.test_scheduler_features import APART, begun, moves, web
from tests.services.autoscaler.test_volume_claims import EBS, claim, limited, lists, using, volume

GROWS = ["grow prod-cpu from 1 to 2: for team/new"]
WAITS = ["tell team/new: it has room on i-0 as soon as pods that are being ended are gone"]


def ending(name: str, seconds: int = 30, **more: Any) -> Object:
    """Return a pod on a node that is being ended and has so much of its grace period left."""
    at = (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    return pod(name, deletionTimestamp=at, **{"node": "i-0", "requests": {"cpu": "12"}, **more})


def decided(groups: dict[str, Standing], *pods: Object) -> list[str]:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    return actions(Lists(pods=pods, nodes=[cpu_node("i-0")]))


@pytest.mark.parametrize(("seconds", "waits"), [(30, True), (600, True), (-50, True), (-70, False), (3600, False)])
def test_a_pod_waits_for_the_room_of_one_that_ends_in_time(
    groups: dict[str, Standing], seconds: int, waits: bool
) -> None:
    new = pod("new", requests={"cpu": "12"})
    assert decided(groups, ending("old", seconds), new) == (WAITS if waits else GROWS)


def test_room_is_given_once(groups: dict[str, Standing]) -> None:
    pods = [pod(name, requests={"cpu": "12"}) for name in ("new", "more")]
    grown, told = decided(groups, ending("old"), *pods)
    assert grown == "grow prod-cpu from 1 to 2: for team/new"
    assert told == "tell team/more: it has room on i-0 as soon as pods that are being ended are gone"


def test_free_room_counts_before_that_of_pods_that_end(groups: dict[str, Standing]) -> None:
    small = pod("new", requests={"cpu": "3"})
    assert decided(groups, ending("old"), small) == []
    larger = pod("larger", requests={"cpu": "13"})
    told = "tell team/larger: it has room on i-0 as soon as pods that are being ended are gone"
    assert decided(groups, ending("old"), pod("new", requests={"cpu": "2"}), larger) == [told]
    assert decided(groups, ending("old"), small, larger) == [*GROWS, told]


@pytest.mark.parametrize("seconds", [30, -70])
@pytest.mark.parametrize(
    "feature",
    [{"labels": {"app": "web"}, **APART}, {"containers": [{"name": "x", "ports": [{"hostPort": 80}]}]}],
    ids=["apart", "port"],
)
def test_ports_and_anti_affinities_end_with_their_pods(
    groups: dict[str, Standing], feature: Object, seconds: int
) -> None:
    result = decided(groups, ending("old", seconds, **feature), pod("new", **feature))
    assert result == (WAITS if seconds > 0 else GROWS)


@pytest.mark.parametrize("seconds", [30, -70])
def test_volumes_end_with_their_pods(groups: dict[str, Standing], seconds: int) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    old = using("old", "a", node="i-0")
    old["metadata"]["deletionTimestamp"] = ending("old", seconds)["metadata"]["deletionTimestamp"]
    api = lists(
        [old, using("new", "b")],
        [cpu_node("i-0")],
        claims=[claim(name, volumeName=f"v{name}") for name in "ab"],
        volumes=[volume(f"v{name}", csi={"driver": EBS, "volumeHandle": name}) for name in "ab"],
    )
    assert actions(limited(api, 1)) == (WAITS if seconds > 0 else GROWS)


def test_a_daemon_set_s_pod_that_ends_is_replaced(groups: dict[str, Standing]) -> None:
    assert decided(groups, ending("old", owner="DaemonSet"), pod("new", requests={"cpu": "12"})) == GROWS


def test_a_gang_is_granted_once_the_pods_before_it_are_gone(groups: dict[str, Standing]) -> None:
    groups["h100"] = Standing(machines=(machine("i-g"),))
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    host = node("i-g", pool="h100", labels={"gpu": "h100"}, taints=taints, has={"cpu": "191"})
    old = ending("old", node="i-g", requests={"nvidia.com/gpu": "8"}, tolerations=TOLERATES)
    asked = gang(1, {"limits": {"nvidia.com/gpu": "8"}})
    for pods, word in (([old], "tell"), ([], "grant")):
        api = Lists(pods=pods, nodes=[host])
        api.lists |= asked
        (action,) = actions(api)
        assert action.startswith(word), action
        assert api.lists[REQUESTS]
    api = Lists(pods=[old], nodes=[host])
    api.lists |= asked
    message = "it has room as soon as pods that are being ended are gone from 1 of 1 node"
    assert actions(api) == [f"tell team/r: {message}"]


def test_no_pod_is_moved_to_a_place_that_another_has_yet_to_leave(groups: dict[str, Standing]) -> None:
    work = pod("work", node="i-1", requests={"cpu": "3"})
    pods = [moves("mover", "i-0", requests={"cpu": "3"}), work, ending("old", node="i-1", requests={"cpu": "12"})]
    api = Lists(pods=pods, nodes=[cpu_node("i-0"), cpu_node("i-1")])
    assert begun(groups, api, ["i-0"]) == []
    api.lists["/api/v1/pods"] = pods[:2]
    assert begun(groups, api, ["i-0"])[0].startswith("cordon i-0")


def test_pods_are_spread_over_hosts_as_they_will_be(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    full = {"labels": {"app": "web"}, "requests": {"cpu": "15"}}
    pods = [ending("old", **full), pod("stays", node="i-1", **full), pod("other", node="i-1")]
    rule = {"topologySpreadConstraints": [web(maxSkew=1, whenUnsatisfiable="DoNotSchedule")]}
    news = [pod(name, labels={"app": "web"}, requests={"cpu": "7"}, **rule) for name in ("new", "next")]
    api = Lists(pods=[*pods, *news], nodes=[cpu_node("i-0"), cpu_node("i-1")])
    told = "tell team/new and 1 more: it has room on i-0 as soon as pods that are being ended are gone"
    assert actions(api) == [told]
