"""The autoscaler acts on nodes with daemon sets, disruption budgets, and startup taints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from contract.annotations import DISPOSABLE
from contract.kubernetes.paths import NAMESPACES, NODES
from contract.labels import TEAM_LABEL
from services.autoscaler.cluster_state import list_all
from tests.services.autoscaler.acting_cluster import (
    PODS,
    SAID,
    SPEC,
    STARTUP_TAINT,
    TEAM,
    World,
)
from tests.support.api_server import eventually

pytestmark = pytest.mark.engine

IDLE = timedelta(minutes=11)
"""A little more than a node is kept without work."""
SETTLED = timedelta(minutes=2)
LEAVE = timedelta(minutes=31)
"""A little more than the pods of a node that is being removed may take to leave it."""
DAY = timedelta(days=1)
DAEMON_SETS = f"/apis/apps/v1/namespaces/{TEAM}/daemonsets"
REPLICA_SETS = "/apis/apps/v1/namespaces/kube-system/replicasets"
READY = {"type": "Ready", "status": "True"}


def test_a_teams_daemon_set_has_its_core_on_each_new_machine(world: World) -> None:
    """The scheduler and the controller of daemon sets are the real ones."""
    team, labels = f"{NAMESPACES}/{TEAM}", {"app": "agent"}
    world.admin.patch(team, {"metadata": {"labels": {TEAM_LABEL: TEAM}}})
    spec = {**SPEC, "containers": [container(limits={"cpu": "1"})], "nodeSelector": {"kubernetes.io/os": "linux"}}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    body["spec"] = {"selector": {"matchLabels": labels}, "template": template}
    made = world.admin.post(DAEMON_SETS, body)
    try:
        with world.scheduler(), world.process() as passes:
            world.pod("beside", {**SPEC, "containers": [container(requests={"cpu": "190"})]})
            world.settle(passes)
            eventually(lambda: sum(map(bool, placed(world).values())) == 2, what="it runs beside the daemon set's")
            world.pod("alone", {**SPEC, "containers": [container(requests={"cpu": "191300m"})]})
            world.settle(passes)
        (node,) = {item["metadata"]["name"] for item in world.admin.items(NODES)}
        assert (world.calls, placed(world)["beside"], placed(world)["alone"]) == (["h100 size 1"], node, "")
        assert world.lines[-1] == (
            "tell team/alone: no pool can hold this: asks 191.3 cores; the largest machine is p5.48xlarge of pool "
            "h100, with 190.45 cores"
        )
        for name in ("beside", "alone"):
            world.admin.delete(f"{PODS}/{name}", grace_s=0)
        for ahead in (timedelta(), IDLE, IDLE + SETTLED):
            world.ahead = ahead
            with world.process() as passes:
                world.settle(passes)
        assert world.calls == ["h100 size 1", f"h100 end {node}"]
    finally:
        world.admin.delete(f"{DAEMON_SETS}/agent", uid=made["metadata"]["uid"])
        world.admin.patch(team, {"metadata": {"labels": {TEAM_LABEL: None}}})


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "main", "image": "example.com/none", "resources": resources}


def placed(world: World) -> dict[str, str]:
    """Return the node of each pod; empty for one that waits."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in world.admin.items(PODS)}


def test_a_pod_that_two_budgets_select_keeps_its_node_and_no_other(world: World) -> None:
    """The second budget comes after the decision to drain; the API then answers 500."""
    world.pods(3)
    with world.process() as passes:
        world.settle(passes)
    node, other = (placed(world)[name] for name in ("train-1", "train-2"))
    world.end_pods(1)
    small = {**SPEC, "containers": [container(requests={"cpu": "1"})], "nodeName": node}
    for name in ("a-store", "b-store"):
        world.pod(name, small, labels={"app": name}, annotations={DISPOSABLE: "true"})
        world.admin.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": [READY]}})
    with budget(world, "first"):
        for ahead in (timedelta(), IDLE):
            world.ahead = ahead
            with world.process() as passes:
                world.settle(passes)
        world.end_pods(2)
        world.ahead = IDLE + SETTLED
        old = list_all(world.api())
        with budget(world, "second"):
            with world.process(old=old) as passes:
                world.once(passes)
            left = next(line for line in world.lines if line.startswith(f"not done: drain {node}: team/a-store: "))
            assert "more than one PodDisruptionBudget" in left
            assert placed(world).keys() == {"train-0", "a-store"}, "an eviction is refused, and the next is made"
            for ahead in (timedelta(), LEAVE, LEAVE + SETTLED):
                world.ahead = IDLE + SETTLED + ahead
                with world.process() as passes:
                    world.settle(passes)
    assert (
        f"hold {node}: its pods may not leave yet: team/a-store: disruption budgets first and second select it, and "
        "pods with several are never evicted"
    ) in world.lines
    assert [line for line in world.lines if line.startswith("done: ")][1:] == [
        f"done: cordon {node}",
        f"done: uncordon {node}",
        f"done: cordon {other}",
        f"done: end {other} of prod-h100",
    ]
    assert placed(world) == {"train-0": placed(world)["train-0"], "a-store": node}


def test_what_may_move_is_evicted_before_its_machine_ends(world: World) -> None:
    world.pods(2)
    with world.process() as passes:
        world.settle(passes)
    node = placed(world)["train-1"]
    world.end_pods(1)
    small = {**SPEC, "containers": [container(requests={"cpu": "1"})], "nodeName": node}
    world.pod("train-9", small, annotations={DISPOSABLE: "true"})
    for ahead in (timedelta(), IDLE, IDLE + SETTLED):
        world.ahead = ahead
        with world.process() as passes:
            world.settle(passes)
    done = [line for line in world.lines if line.startswith("done: ") and node in line]
    assert done == [f"done: cordon {node}", f"done: drain {node}", f"done: end {node} of prod-h100"]
    assert placed(world).keys() == {"train-0"}


@contextmanager
def budget(world: World, name: str) -> Iterator[None]:
    """Have a disruption budget select a-store and let it go, by the numbers of the real controller."""
    spec = {"selector": {"matchLabels": {"app": "a-store"}}, "minAvailable": 0}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
    path = f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets"
    uid = world.admin.post(path, body)["metadata"]["uid"]
    try:
        eventually(
            lambda: world.admin.get(f"{path}/{name}").get("status", {}).get("disruptionsAllowed"), what="it is counted"
        )
        yield
    finally:
        world.admin.delete(f"{path}/{name}", uid=uid)


def test_a_node_of_days_that_gets_a_startup_taint_is_starting_since_then(world: World) -> None:
    world.pods(2)
    with world.process() as passes:
        world.settle(passes)
    node = placed(world)["train-1"]
    labels = {"k8s-app": "kube-dns"}
    spec = {**SPEC, "containers": [container(requests={"cpu": "100m"})], "nodeName": node}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "coredns"}}
    body["spec"] = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    made = world.admin.post(REPLICA_SETS, body)
    try:
        eventually(lambda: world.admin.get(f"{REPLICA_SETS}/coredns").get("status", {}).get("replicas"), what="it runs")
        world.end_pods(1)
        world.admin.patch(f"{NODES}/{node}", {"spec": {"taints": [STARTUP_TAINT]}})
        for ahead in (5 * DAY, 5 * DAY + timedelta(minutes=59)):
            world.ahead = ahead
            with world.process() as passes:
                passed = world.once(passes)
            assert [action for action in passed.evaluation.decision.actions if action.verb not in SAID] == []
        world.ahead += IDLE
        with world.process() as passes:
            world.settle(passes)
    finally:
        world.admin.delete(f"{REPLICA_SETS}/coredns", uid=made["metadata"]["uid"])
        for pod in world.admin.items("/api/v1/namespaces/kube-system/pods"):
            world.admin.delete(f"/api/v1/namespaces/kube-system/pods/{pod['metadata']['name']}", grace_s=0)
    assert world.lines[-2].startswith(f"end {node} of prod-h100: it has not been ready for 7")
    assert world.calls == ["h100 size 2", f"h100 end {node}"]
