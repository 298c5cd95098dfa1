"""Requirements of pods and of templates, as the scheduler and the API have them."""

from __future__ import annotations

from typing import Any

import pytest

from contract.objects import GANGS
from services.autoscaler.cluster_state import PRIORITY_CLASSES, REQUESTS, TEMPLATES
from tests.services.autoscaler.api_objects import Object, node, pod
from tests.services.autoscaler.listed_cluster import (
    Lists,
    Standing,
    actions,
    cpu_node,
    groups_of_pools,
    machine,
)

GPU = "nvidia.com/gpu"
TOLERATES = [{"key": GPU, "operator": "Exists"}]
ON_H100: dict[str, Any] = {"tolerations": TOLERATES, "nodeSelector": {"gpu": "h100"}}


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    return groups_of_pools(monkeypatch)


def one_cpu_node(groups: dict[str, Standing]) -> list[Object]:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    return [cpu_node("i-0")]


def gang(count: int, resources: Object, **spec: Any) -> dict[str, list[Object]]:
    """Return a ProvisioningRequest for some pods, and their template."""
    template = pod("t", **ON_H100, **spec)["spec"]
    template["containers"][0]["resources"] = resources
    pod_set = {"podTemplateRef": {"name": "t"}, "count": count}
    made = {"namespace": "team", "name": "r", "creationTimestamp": "2026-03-01T11:00:00Z"}
    return {
        REQUESTS: [{"metadata": made, "spec": {"provisioningClassName": GANGS, "podSets": [pod_set]}}],
        TEMPLATES: [{"metadata": {"name": "t", "namespace": "team"}, "template": {"spec": template}}],
    }


def test_limits_of_a_gang_s_template_are_its_requests(groups: dict[str, Standing]) -> None:
    api = Lists()
    api.lists |= gang(2, {"limits": {GPU: "8"}})
    assert "grow prod-h100 from 0 to 2: for gang team/r, 2 members" in actions(api)
    groups["h100"] = Standing(machines=(machine("i-g"),))
    taints = [{"key": GPU, "effect": "NoSchedule"}]
    api = Lists(nodes=[node("i-g", pool="h100", labels={"gpu": "h100"}, taints=taints, has={"cpu": "191"})])
    api.lists |= gang(2, {"limits": {GPU: "8"}})
    assert actions(api) == [
        "grow prod-h100 from 1 to 2: for gang team/r, 1 member",
        "tell team/r: it has room as soon as 1 of 2 nodes are ready",
    ]


def test_a_gang_has_the_priority_of_its_template(groups: dict[str, Standing]) -> None:
    low = pod("low", requests={GPU: "8"}, priority=10, **ON_H100)
    api = Lists(pods=[low])
    api.lists |= gang(1, {"requests": {GPU: "8"}}, priorityClassName="longhaul-training-high")
    api.lists[PRIORITY_CLASSES] = [{"metadata": {"name": "longhaul-training-high"}, "value": 1000}]
    grows, *others = actions(api, max_nodes=1, hosts={})
    assert grows == "grow prod-h100 from 0 to 1: for gang team/r, 1 member"
    assert any(line.startswith("tell team/low: ") for line in others)


def test_a_port_of_a_sidecar_that_runs_is_the_node_s(groups: dict[str, Standing]) -> None:
    nodes = one_cpu_node(groups)
    ports = [{"containerPort": 15001, "hostPort": 15001}]
    mesh, wants = pod("mesh", node="i-0"), pod("wants")
    mesh["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always", "ports": ports}]
    wants["spec"]["containers"][0]["ports"] = ports
    assert actions(Lists(pods=[mesh, wants], nodes=nodes)) == ["grow prod-cpu from 1 to 2: for team/wants"]
    # A container that has ended before the others began holds no port.
    del mesh["spec"]["initContainers"][0]["restartPolicy"]
    assert actions(Lists(pods=[mesh, wants], nodes=nodes)) == []
