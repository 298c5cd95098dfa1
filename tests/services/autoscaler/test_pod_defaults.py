"""Values that the API adds to pods, and ports of the node."""

from __future__ import annotations

from typing import Any

import pytest

from services.autoscaler.free_capacity import PodNeed
from services.autoscaler.pod_defaults import PodDefaults
from services.autoscaler.pod_objects import ShapeParser, requests
from services.autoscaler.pod_shapes import PodShape, SelectorOperator, SelectorRequirement, Toleration
from tests.services.autoscaler.api_objects import Object

GIB = 2**30


def container(**asked: str) -> Object:
    return {"name": "c", "resources": {"requests": asked}}


def test_a_limit_stands_for_a_request_that_is_missing() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "8"}, "requests": {"cpu": "1"}}}
    assert requests({"containers": [limited]}) == {"cpu": 1000, "nvidia.com/gpu": 8}
    # A limit of the pod as a whole stands only for what no container asks for.
    whole_pod = {"containers": [container(cpu="1")], "resources": {"limits": {"cpu": "4", "memory": "1Gi"}}}
    assert requests(whole_pod) == {"cpu": 1000, "memory": GIB}


def port(number: int, **more: Any) -> Object:
    return {"containerPort": number, "hostPort": number, **more}


def test_ports_of_the_node_are_those_of_containers_that_stay() -> None:
    spec = {
        "containers": [{"ports": [port(80), port(53, protocol="UDP"), port(81, hostIP="0.0.0.0")]}],
        "initContainers": [
            {"restartPolicy": "Always", "ports": [port(15001, hostIP="10.0.0.1")]},
            {"ports": [port(99)]},
        ],
    }
    parsed = ShapeParser().parse({"metadata": {}, "spec": spec})
    assert parsed.ports == ("TCP/15001@10.0.0.1", "TCP/80", "TCP/81", "UDP/53")


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [("TCP/80", "TCP/80", True), ("TCP/80", "UDP/80", False), ("TCP/80@a", "TCP/80@b", False),
     ("TCP/80@a", "TCP/80@a", True), ("TCP/80", "TCP/80@a", True), ("TCP/80@a", "TCP/80", True),
     ("TCP/80", "TCP/8080", False)],
)  # fmt: skip
def test_ports_conflict_by_address(mine: str, theirs: str, conflict: bool) -> None:
    need, other = (PodNeed(PodShape((), ports=(text,)), (), matches=0, owns=0) for text in (mine, theirs))
    assert need.excludes(other) is conflict


def test_a_template_gets_what_the_api_would_give_its_pod() -> None:
    limits = [{"type": "Pod"}, {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"memory": "1Gi"}}]
    overhead, scheduling = (
        {"podFixed": {"cpu": "100m"}},
        {"nodeSelector": {"sandbox": "yes"}, "tolerations": [{"key": "s"}]},
    )
    defaults = PodDefaults(
        limit_ranges=[{"metadata": {"namespace": "team"}, "spec": {"limits": limits}}],
        runtime_classes=[{"metadata": {"name": "kata"}, "overhead": overhead, "scheduling": scheduling}],
        priority_classes=[
            {"metadata": {"name": "high"}, "value": 1000},
            {"metadata": {"name": "normal"}, "value": 5, "globalDefault": True},
        ],
    )
    containers = [
        {"ports": [{"containerPort": 9100}]},
        {"resources": {"limits": {"cpu": "1"}, "requests": {"memory": "5Gi"}}},
    ]
    spec = {"hostNetwork": True, "runtimeClassName": "kata", "containers": containers}
    shape = ShapeParser().parse(defaults.pod({"spec": spec}, "team"))
    assert dict(shape.requests) == {"cpu": 3100, "memory": 6 * GIB, "pods": 1}
    assert shape.ports == ("TCP/9100",)
    assert shape.where.selector == (SelectorRequirement("sandbox", SelectorOperator.IN, ("yes",)),)
    assert shape.where.tolerations == (Toleration("s", ""),)
    assert dict(ShapeParser().parse(defaults.pod({"spec": spec}, "other")).requests)["cpu"] == 1100
    assert (defaults.priority({}), defaults.priority({"priorityClassName": "high"})) == (5, 1000)
    (unknown,) = defaults.missing({"priorityClassName": "none", "runtimeClassName": "kata"})
    assert unknown.message == "its priority class none does not exist"
