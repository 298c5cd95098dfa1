"""Names of hosts: selectors of them, and what shares a host by its label."""

from __future__ import annotations

import pytest

from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import Lists, Standing, actions, cpu_node, machine

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GROWS = ["grow prod-cpu from 0 to 1: for team/p"]


def selecting(operator: str, *values: str, **more: Object) -> Object:
    """Return a pod that selects by the host's name."""
    names = {"key": HOST, "operator": operator, **({"values": list(values)} if values else {})}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [names]}]}}}
    return pod("p", requests={"cpu": "1"}, affinity=affinity, **more)


@pytest.mark.parametrize(
    ("operator", "values", "grows"),
    [("Exists", (), True), ("NotIn", ("i-0",), True), ("In", ("i-0",), False), ("DoesNotExist", (), False),
     ("Gt", ("1",), False)],
)  # fmt: skip
def test_a_new_node_has_a_host_name_that_nobody_knows(
    groups: dict[str, Standing], operator: str, values: tuple[str, ...], grows: bool
) -> None:
    assert (actions(Lists(pods=[selecting(operator, *values)])) == GROWS) is grows


@pytest.mark.parametrize("operator", ["NotIn", "Exists"])
def test_a_pod_that_names_no_node_is_told_its_cause(groups: dict[str, Standing], operator: str) -> None:
    values = ("i-0",) if operator == "NotIn" else ()
    (line,) = actions(Lists(pods=[selecting(operator, *values, nodeSelector={"disk": "fast"})]))
    assert "certain names" not in line
    assert "it is not disk=fast" in line
    (line,) = actions(Lists(pods=[selecting("In", "i-0")]))
    assert "it may run only on nodes with certain names" in line


def named(name: str, host: str | None) -> Object:
    """Return a node whose host has another name, or none."""
    node = cpu_node(name)
    del node["metadata"]["labels"][HOST]
    if host is not None:
        node["metadata"]["labels"][HOST] = host
    return node


def web(**more: object) -> Object:
    return {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST, **more}


SPREAD = {"topologySpreadConstraints": [web(maxSkew=1, whenUnsatisfiable="DoNotSchedule")]}
APART = {"affinity": {"podAntiAffinity": {REQUIRED: [web()]}}}


@pytest.mark.parametrize(
    ("rule", "hosts", "fits"),
    [
        # Two nodes of one host: what runs on the first counts on the second too.
        (APART, ("h", "h"), False), (APART, ("i-1", "i-1"), False), (APART, ("h", "g"), True),
        # Pods are kept apart by the label, so nodes without it hold any number of them.
        (APART, (None, "h"), True), (APART, (None, None), True),
        (SPREAD, ("h", "g"), True), (SPREAD, ("h", None), False),
    ],
)  # fmt: skip
def test_hosts_are_the_values_of_their_label(
    groups: dict[str, Standing], rule: Object, hosts: tuple[str | None, str | None], fits: bool
) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    full = pod("full", node="i-0", requests={"cpu": "15"}, labels={"app": "web"})
    waits = pod("p", requests={"cpu": "1"}, labels={"app": "web"}, **rule)
    decided = actions(Lists(pods=[full, waits], nodes=[named("i-0", hosts[0]), named("i-1", hosts[1])]))
    assert (decided == []) is fits


def test_pods_that_are_placed_share_a_host(groups: dict[str, Standing]) -> None:
    """A pod that is placed on a node counts on every node of its host; on one without a host, it keeps nobody off."""
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    pods = [pod(name, requests={"cpu": "1"}, labels={"app": "web"}, **APART) for name in ("p", "q")]
    shared = Lists(pods=pods, nodes=[named("i-0", "h"), named("i-1", "h")])
    assert actions(shared) == ["grow prod-cpu from 2 to 3: for team/q"]
    assert actions(Lists(pods=pods, nodes=[named("i-0", None)])) == []


def test_pods_are_spread_over_values_of_the_label(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=tuple(machine(f"i-{number}") for number in range(3)))
    pods = [pod(f"runs-{number}", node=f"i-{number}", labels={"app": "web"}, requests={}) for number in range(2)]
    waits = pod("p", requests={"cpu": "1"}, labels={"app": "web"}, **SPREAD)
    crowded = [named("i-0", "h"), named("i-1", "h"), cpu_node("i-2", unschedulable=True)]
    assert actions(Lists(pods=[*pods, waits], nodes=crowded)) == ["grow prod-cpu from 3 to 4: for team/p"]
