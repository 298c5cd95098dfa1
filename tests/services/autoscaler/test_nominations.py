"""Nominations of the scheduler: which hold, and which buy a machine."""

from __future__ import annotations

from typing import Any

import pytest

from contract.labels import HOSTNAME_LABEL
from services.autoscaler.watched_lists import slim_pod
from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import Lists, Standing, actions, cpu_node, machine

GROWS = ["grow prod-cpu from 1 to 2: for team/p"]


def nominated(name: str = "p", **more: Any) -> Object:
    """Return a pod for which the scheduler makes room on the node ``i-0``."""
    return pod(name, requests={"cpu": "8"}, status={"nominatedNodeName": "i-0"}, **{"priority": 5, **more})


def decided(groups: dict[str, Standing], waits: Object, *others: Object, **node: Any) -> list[str]:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    return actions(Lists(pods=[waits, *others], nodes=[cpu_node("i-0", **node)]))


def runs(priority: int, **more: Any) -> Object:
    return pod("runs", node="i-0", requests={"cpu": "15"}, priority=priority, **more)


def test_a_nomination_holds_while_others_make_way(groups: dict[str, Standing]) -> None:
    assert decided(groups, nominated(), runs(0)) == []
    assert decided(groups, nominated()) == []


@pytest.mark.parametrize("priority", [5, 9])
def test_a_nomination_whose_room_is_taken_does_not_hold(groups: dict[str, Standing], priority: int) -> None:
    assert decided(groups, nominated(), runs(priority)) == GROWS


def test_a_pod_that_may_not_preempt_has_no_nomination(groups: dict[str, Standing]) -> None:
    waits = nominated(preemptionPolicy="Never")
    watched = slim_pod(waits)
    assert watched
    assert watched["spec"]["preemptionPolicy"] == "Never"
    assert decided(groups, waits, runs(0)) == GROWS
    assert decided(groups, waits) == []


def test_a_nomination_for_a_node_that_does_not_allow_the_pod_does_not_hold(groups: dict[str, Standing]) -> None:
    assert decided(groups, nominated(), unschedulable=True) == GROWS
    zone = {"topology.kubernetes.io/zone": "us-east-1b"}
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    node = cpu_node("i-0")
    assert "us-east-1a" in node["metadata"]["labels"].values()
    (line,) = actions(Lists(pods=[nominated(nodeSelector=zone)], nodes=[node]))
    assert line.startswith(("tell team/p", "grow prod-cpu"))


def test_nominations_share_a_node_as_far_as_it_has_room(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    pods = [nominated("p"), nominated("first", priority=6), runs(0)]
    assert actions(Lists(pods=pods, nodes=[cpu_node("i-0")])) == GROWS


def test_room_of_a_nominated_pod_is_not_for_others(groups: dict[str, Standing]) -> None:
    waits = pod("p", requests={"cpu": "8"})
    makes_way = pod("runs", node="i-0", requests={"cpu": "1"})
    assert decided(groups, waits, makes_way) == []
    assert decided(groups, waits, makes_way, nominated("first")) == GROWS


def test_others_keep_away_from_a_nominated_pod(groups: dict[str, Standing]) -> None:
    term = {"topologyKey": HOSTNAME_LABEL, "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waits = pod("p", requests={"cpu": "1"}, affinity=apart)
    assert decided(groups, waits, nominated("first", labels={"app": "db"})) == []
    assert decided(groups, waits, nominated("first", labels={"app": "web"})) == GROWS


def test_a_nomination_for_a_node_that_is_gone_does_not_hold(groups: dict[str, Standing]) -> None:
    assert actions(Lists(pods=[nominated()])) == ["grow prod-cpu from 0 to 1: for team/p"]
