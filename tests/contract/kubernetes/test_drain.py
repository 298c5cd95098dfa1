"""Pods that count as work, and the drain of a node."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from contract.annotations import DISPOSABLE
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import cordon, drain_line, evict, evict_all, pod_of, pods_on, uncordon, work_on
from tests.support.pool import FakeCluster


@pytest.fixture(name="cluster")
def _cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.node("a")
    return cluster


def item(*, namespace: str = "team", owner: str = "Job", phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    owners = [{"kind": owner, "controller": True}] if owner else []
    return {
        "metadata": {"namespace": namespace, "name": "p", "uid": "u", "ownerReferences": owners, **metadata},
        "status": {"phase": phase},
    }


def step(cluster: FakeCluster) -> str:
    """Make one step of a drain, and let what leaves end; return the line of what was left."""
    line = drain_line(evict_all(cluster, pods_on(cluster, "a")))
    cluster.advance(60)
    return line


@pytest.mark.parametrize(
    ("pod", "work", "stays"),
    [
        (item(), True, False),
        (item(owner=""), True, False),
        (item(owner="ReplicaSet"), True, False),
        (item(phase="Pending"), True, False),
        (item(owner="DaemonSet"), False, True),
        (item(owner="Node", annotations={"kubernetes.io/config.mirror": "x"}), False, True),
        (item(phase="Succeeded"), False, True),
        (item(phase="Failed"), False, True),
        (item(deletionTimestamp="2026-11-01T12:00:00Z"), False, False),
        (item(namespace="kube-system", owner="ReplicaSet"), False, False),
        (item(namespace="kube-system", owner=""), True, False),
        (item(namespace="kube-system", annotations={DISPOSABLE: "false"}), True, False),
        (item(annotations={DISPOSABLE: "true"}), False, False),
        (item(annotations={DISPOSABLE: "yes"}), True, False),
    ],
)
def test_what_is_work(pod: dict[str, Any], work: bool, stays: bool) -> None:
    found = pod_of(pod)
    assert (found.work, found.stays) == (work, stays)


def test_a_drain_leaves_what_stays(cluster: FakeCluster) -> None:
    cluster.pod("job", "a")
    cluster.pod("agent", "a", owner="DaemonSet")
    cluster.pod("elsewhere", "b")
    step(cluster)
    assert {name for _, name in cluster.pods} == {"agent", "elsewhere"}
    assert cluster.evicted == ["job"]


def test_a_drain_keeps_to_budgets_and_says_who_is_left(cluster: FakeCluster) -> None:
    cluster.pod("job", "a")
    cluster.pod("held", "a")
    cluster.budgets.add(("team", "held"))
    assert "team/held: Cannot evict" in step(cluster)
    assert {name for _, name in cluster.pods} == {"held"}


def test_a_drain_goes_on_once_the_budget_allows(cluster: FakeCluster) -> None:
    cluster.pod("held", "a")
    cluster.budgets.add(("team", "held"))
    step(cluster)
    cluster.budgets.clear()
    step(cluster)
    assert cluster.evicted == ["held"]


def test_a_pod_is_asked_once(cluster: FakeCluster) -> None:
    cluster.pod("job", "a")
    step(cluster)
    step(cluster)
    assert cluster.evicted == ["job"]


def test_another_pod_of_the_same_name_is_not_evicted(cluster: FakeCluster) -> None:
    cluster.pod("web-0", "a", owner="StatefulSet")
    (seen,) = pods_on(cluster, "a")
    cluster.pod("web-0", "b", owner="StatefulSet")
    assert "UID" in evict(cluster, seen)
    assert cluster.evicted == []


def test_what_the_api_refuses_is_an_error(cluster: FakeCluster) -> None:
    cluster.pod("job", "a")
    cluster.down = ApiError("not allowed", status=403)
    with pytest.raises(ApiError, match="not allowed"):
        step(cluster)


def test_a_cordon_is_not_written_over_somebody_elses(cluster: FakeCluster) -> None:
    seen = dict(cluster.nodes["a"], metadata=dict(cluster.nodes["a"]["metadata"]))
    cluster.patch("/api/v1/nodes/a", {"spec": {"unschedulable": True}})
    assert cordon(cluster, seen, annotations={"why": "roll"}) is False
    assert "annotations" not in cluster.nodes["a"]["metadata"]


def test_a_cordon_is_taken_back_with_its_notes(cluster: FakeCluster) -> None:
    assert cordon(cluster, cluster.nodes["a"], annotations={"why": "roll"})
    assert cluster.nodes["a"]["spec"]["unschedulable"] is True
    assert uncordon(cluster, cluster.nodes["a"], annotations=("why",))
    assert "unschedulable" not in cluster.nodes["a"]["spec"]
    assert cluster.nodes["a"]["metadata"]["annotations"] == {}


def test_work_on_a_node(cluster: FakeCluster) -> None:
    cluster.pod("job", "a")
    cluster.pod("agent", "a", owner="DaemonSet")
    assert [str(pod) for pod in work_on(pods_on(cluster, "a"))] == ["team/job"]


@pytest.mark.parametrize(
    ("status", "kind", "ends"), [(500, "", False), (403, "poddisruptionbudget", False), (403, "pods", True)]
)
def test_a_pod_that_the_api_never_evicts_ends_no_drain(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, status: int, kind: str, ends: bool
) -> None:
    """Two budgets that select one pod are answered with 500: the other pods leave all the same."""
    cluster.pod("a-twice", "a")
    cluster.pod("job", "a")
    post = cluster.post

    def refuse(path: str, body: Any, **more: Any) -> Any:
        if "/a-twice/" in path:
            raise ApiError("more than one PodDisruptionBudget", status=status, details={"kind": kind})
        return post(path, body, **more)

    monkeypatch.setattr(cluster, "post", refuse)
    with pytest.raises(ApiError) if ends else nullcontext():
        assert step(cluster) == "team/a-twice: more than one PodDisruptionBudget; team/job is ending"
    assert cluster.evicted == ([] if ends else ["job"])
