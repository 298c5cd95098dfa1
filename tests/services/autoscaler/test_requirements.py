"""Requirements of pods and of templates, as the scheduler and the API have them."""

from __future__ import annotations

from typing import Any

import pytest

from contract.object_names import GANGS
from longhaul.cli.examples import example
from services.autoscaler.cluster_state import PRIORITY_CLASSES, REQUESTS, TEMPLATES
from tests.services.autoscaler.api_objects import Object, node, pod
from tests.services.autoscaler.listed_cluster import (
    Lists,
    Standing,
    actions,
    cpu_node,
    machine,
)

GPU = "nvidia.com/gpu"
TOLERATES = [{"key": GPU, "operator": "Exists"}]
ON_H100: dict[str, Any] = {"tolerations": TOLERATES, "nodeSelector": {"gpu": "h100"}}


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


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DB = {"app": "db"}


def spread(**more: Any) -> Any:
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
    return {"labels": DB, "topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": DB}, **more}]}


def several(groups: dict[str, Standing], count: int) -> list[Object]:
    names = [f"i-{index}" for index in range(count)]
    groups["cpu"] = Standing(machines=tuple(map(machine, names)))
    return [cpu_node(name) for name in names]


def test_pods_are_spread_over_hosts(groups: dict[str, Standing]) -> None:
    nodes = several(groups, 1)
    pods = [pod("mq-0", node="i-0", requests={"cpu": "1"}, **spread()), pod("mq-1", requests={"cpu": "1"}, **spread())]
    # The new machine is a host with none, once it is a node.
    full = pod("full", node="i-0", requests={"cpu": "14"})
    assert actions(Lists(pods=pods, nodes=nodes)) == []
    assert actions(Lists(pods=[*pods, full], nodes=nodes)) == ["grow prod-cpu from 1 to 2: for team/mq-1"]


@pytest.mark.parametrize(
    ("on", "waiting", "more", "machines"),
    [
        # All hosts have as many, so each may have another.
        ((1, 1, 1), 3, {}, 0),
        # One host has none and no room: the others may have as many as the skew.
        ((1, 1, None), 1, {}, 1),
        ((1, 1, None), 1, {"maxSkew": 2}, 0),
        ((1, 1, None), 5, {"maxSkew": 2}, 2),
        # Fewer hosts than asked for count as if one had none.
        ((1, 1), 1, {"minDomains": 3}, 1),
        ((1, 1), 3, {"minDomains": 3}, 1),
        # The pod is not among those that are counted.
        ((1, None), 3, {"labelSelector": {"matchLabels": {"app": "web"}}}, 0),
        # Without a selector nothing is counted.
        ((1, None), 3, {"labelSelector": {}}, 0),
    ],
)
def test_a_host_has_no_more_than_the_skew_allows(
    groups: dict[str, Standing], on: tuple[int | None, ...], waiting: int, more: dict[str, Any], machines: int
) -> None:
    """``on`` are the numbers of pods on each host; None is a host that is full of others."""
    nodes = several(groups, len(on))
    there = [
        pod(f"{index}-{number}", node=f"i-{index}", labels=DB)
        for index, count in enumerate(on)
        for number in range(count or 0)
    ]
    there += [
        pod(f"full-{index}", node=f"i-{index}", requests={"cpu": "15800m"})
        for index, count in enumerate(on)
        if count is None
    ]
    pods = [pod(f"waits-{number}", requests={"cpu": "100m"}, **spread(**more)) for number in range(waiting)]
    found = actions(Lists(pods=[*pods, *there], nodes=nodes))
    grown = [f"grow prod-cpu from {len(on)} to {len(on) + machines}"] if machines else []
    assert [line.partition(":")[0] for line in found] == grown


def test_hosts_that_take_no_pods_count_by_the_policies(groups: dict[str, Standing]) -> None:
    nodes = several(groups, 2)
    nodes[1]["spec"] |= {"unschedulable": True}
    nodes[1]["metadata"]["labels"] |= {"old": "yes"}
    there = pod("0", node="i-0", labels=DB)

    def grows(**more: Any) -> list[str]:
        waits = pod("waits", requests={"cpu": "100m"}, **spread(), **more)
        waits["spec"]["topologySpreadConstraints"][0] |= policies
        return [line for line in actions(Lists(pods=[there, waits], nodes=nodes)) if line.startswith("grow")]

    policies: dict[str, str] = {}
    assert grows() == ["grow prod-cpu from 2 to 3: for team/waits"], "the cordoned host has none"
    policies = {"nodeTaintsPolicy": "Honor"}
    assert grows() == []
    expression = {"key": "old", "operator": "DoesNotExist"}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    policies = {}
    assert grows(affinity=affinity) == [], "hosts whose labels it does not accept do not count"
    policies = {"nodeAffinityPolicy": "Ignore"}
    assert grows(affinity=affinity) == ["grow prod-cpu from 2 to 3: for team/waits"]


def test_a_pod_that_ends_does_not_count(groups: dict[str, Standing]) -> None:
    nodes = several(groups, 2)
    ends = pod("ends", node="i-0", labels=DB, deletionTimestamp="2026-03-01T11:59:50Z")
    full = pod("full", node="i-1", requests={"cpu": "15800m"})
    waits = pod("waits", requests={"cpu": "100m"}, **spread())
    assert actions(Lists(pods=[ends, full, waits], nodes=nodes)) == []


def test_a_gang_s_members_are_apart_before_they_are_pods(groups: dict[str, Standing]) -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": DB}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    api = Lists()
    api.lists |= gang(2, {"limits": {GPU: "1"}}, affinity=apart)
    api.lists[TEMPLATES][0]["template"]["metadata"] = {"labels": DB}
    assert "grow prod-h100 from 0 to 2: for gang team/r, 2 members" in actions(api)


def test_a_pod_that_runs_keeps_others_out_of_its_zone(groups: dict[str, Standing]) -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": DB}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    runs = pod("a", node="i-0", labels=DB, affinity=apart)
    waits = pod("b", labels=DB, requests={"cpu": "1"})
    nodes = one_cpu_node(groups)
    (told,) = actions(Lists(pods=[runs, waits], nodes=nodes))
    assert told == (
        f"tell team/b: no pool can hold this: pods that run keep it out of {ZONE}=us-east-1a, where new nodes are or "
        "may be (cpu)"
    )
    other = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("b",)})
    assert actions(Lists(pods=[runs, waits], nodes=nodes), pools={"cpu": other}) == [
        "grow prod-cpu from 1 to 2: for team/b"
    ]
    nodes = [*nodes, cpu_node("i-1", zone="us-east-1b")]
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    assert actions(Lists(pods=[runs, waits], nodes=nodes)) == []
