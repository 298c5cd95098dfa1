"""Times and rules of the API that say whether a node may go: since when it is unfit, and what may be evicted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.lease import LEASES
from services.autoscaler.cluster_snapshot import ClusterNode, NodeHealth
from services.autoscaler.cluster_state import list_objects
from services.autoscaler.node_load import budget_of
from services.autoscaler.node_objects import NodeParser
from services.autoscaler.pod_objects import ShapeParser
from services.autoscaler.pod_shapes import NodeKind
from services.autoscaler.unfit_times import dated_nodes, was_never_fit
from services.autoscaler.watched_lists import slim_pod
from tests.services.autoscaler.api_objects import Object, node, pod
from tests.services.autoscaler.listed_cluster import NOW

STARTS = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
OURS = {"key": "longhaul.dev/preflight", "effect": "NoSchedule"}
AGO = NOW - timedelta(seconds=7)


def parser(*budgets: Object) -> NodeParser:
    found = [budget for budget in map(budget_of, budgets) if budget]
    return NodeParser(ShapeParser(), budgets=found, machines={}, taints={}, now=NOW)


@pytest.mark.parametrize(("added", "since"), [(None, None), (AGO.isoformat(), AGO)])
def test_a_taint_tells_since_when_or_nothing_does(added: str | None, since: datetime | None) -> None:
    item = node("n")
    item["spec"]["taints"] = [{**OURS, **({"timeAdded": added} if added else {})}]
    parsed = parser().parse(item, [])
    assert (parsed.health, parsed.since) == (NodeHealth.STARTING, since)


def budget(name: str, *, spec: Object | None = None, **status: int) -> Object:
    selects = {"selector": {"matchLabels": {"app": "web"}}, **(spec or {})}
    return {"metadata": {"namespace": "kube-system", "name": name}, "spec": selects, "status": status}


ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}


@pytest.mark.parametrize(
    ("budgets", "phase", "ready", "blocked"),
    [
        ([budget("b", disruptionsAllowed=1)], "Running", True, ""),
        ([budget("b")], "Running", True, "disruption budget b allows none"),
        ([budget("b")], "Running", False, "disruption budget b allows none"),
        ([budget("b", currentHealthy=2, desiredHealthy=2)], "Running", False, ""),
        ([budget("b", currentHealthy=2, desiredHealthy=2)], "Running", True, "disruption budget b allows none"),
        ([budget("b", currentHealthy=1, desiredHealthy=2)], "Running", False, "disruption budget b allows none"),
        ([budget("b", spec=ALWAYS, currentHealthy=1, desiredHealthy=2)], "Running", False, ""),
        ([budget("b", spec=ALWAYS)], "Running", True, "disruption budget b allows none"),
        ([budget("b")], "Pending", False, ""),
        (
            [budget("b", disruptionsAllowed=1), budget("a", disruptionsAllowed=1)],
            "Running",
            True,
            "disruption budgets a and b select it, and pods with several are never evicted",
        ),
    ],
)
def test_what_a_budget_lets_go_is_as_the_api_has_it(
    budgets: list[Object], phase: str, ready: bool, blocked: str
) -> None:
    """Kubernetes 1.36, ``pkg/registry/core/pod/storage/eviction.go``."""
    web = pod("web", namespace="kube-system", node="n", labels={"app": "web"}, owner="ReplicaSet")
    web["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    for item in (web, slim_pod(web)):
        assert item is not None
        (moving,) = parser(*budgets).parse(node("n"), [item]).moving
        assert moving.block_reason == blocked


def test_a_budget_of_a_newer_generation_allows_nothing_yet() -> None:
    item: Any = budget("b", disruptionsAllowed=1, observedGeneration=1)
    item["metadata"]["generation"] = 2
    found = budget_of(item)
    assert found is not None
    assert not found.allows


def test_a_watch_keeps_members_of_gangs_that_have_succeeded() -> None:
    """As a list has them: a gang of which some have succeeded needs fewer."""
    member = pod("m", labels={"scheduling.x-k8s.io/pod-group": "g"})
    member["status"] = {"phase": "Succeeded"}
    assert slim_pod(member) is not None
    member["status"] = {"phase": "Failed"}
    assert slim_pod(member) is None
    other = pod("o")
    other["status"] = {"phase": "Succeeded"}
    assert slim_pod(other) is None


@pytest.mark.parametrize(("renewed", "works"), [("-5s", True), ("-5min", False), (None, True)])
def test_a_scheduler_whose_lease_has_expired_is_not_at_work(renewed: str | None, works: bool) -> None:
    """A cluster whose scheduler takes no lease is believed."""
    ago = {"-5s": timedelta(seconds=5), "-5min": timedelta(minutes=5)}
    leases = []
    if renewed:
        spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": (NOW - ago[renewed]).isoformat()}
        leases = [{"metadata": {"name": "kube-scheduler"}, "spec": spec}]
    collections: dict[str, list[Object]] = {LEASES: leases}
    assert list_objects(lambda path: collections.get(path, []), memory=DecisionMemory(), now=NOW).scheduling is works


def test_a_clock_that_was_ahead_when_a_node_registered_forgets_no_time() -> None:
    made, since = NOW + timedelta(hours=3), NOW - timedelta(minutes=20)
    starting = ClusterNode(name="n", kind=NodeKind(), free={}, health=NodeHealth.STARTING, since=made, made=made)
    (dated,) = dated_nodes([starting], {"n": since}, NOW)
    assert dated.since == since
    assert was_never_fit(dated)
    (renamed,) = dated_nodes([replace(starting, made=NOW)], {"n": since}, NOW)
    assert renamed.since == NOW, "another node had this name"


@pytest.mark.parametrize(("ready", "leaving"), [("True", 1), ("False", 0)])
def test_a_kubelet_that_was_never_ready_ends_no_pod(ready: str, leaving: int) -> None:
    """A pod that should have been gone for long keeps no machine whose node does not answer."""
    made = "2026-03-01T08:00:00Z"
    overdue = pod("job", node="n", deletionTimestamp=(NOW - timedelta(minutes=5)).isoformat())
    assert parser().parse(node("n", ready=ready, made=made, since=made), [overdue]).leaving == leaving
