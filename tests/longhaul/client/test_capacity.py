"""Capacity in words and as plain values, from objects as Kueue, Kubernetes and the autoscaler write them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from contract.conditions import BEYOND_QUEUE
from contract.documents import autoscaler_memory
from contract.documents.autoscaler_memory import Backoff, DecisionMemory
from contract.documents.pools import of_text
from contract.kubernetes.api import ApiReader
from contract.kubernetes.connection import ApiError, Object
from contract.labels import HELD_LABEL
from contract.reasons.autoscaler import Obstacle, WaitReason
from longhaul.client.capacity.pools import pools
from longhaul.client.capacity.queues import refusal_of, team
from longhaul.client.capacity.reader import KUEUE, NO_TEAMS, CapacityReader
from longhaul.client.capacity.state import Amount, ClusterCapacity, PoolCapacity
from longhaul.client.capacity.text import MANY, to_plain, to_text
from longhaul.client.capacity.waiting_jobs import is_waiting

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LABELS = {"longhaul.dev/kind": "h100", "node.kubernetes.io/instance-type": "p5"}
REGION = "topology.kubernetes.io/region"
DECLARED = {
    "h100": {"site": "use1", "groups": ["e-h100"], "labels": {REGION: "us-east-1", **LABELS}, "max": 4},
    "west": {"site": "usw2", "groups": ["e-west"], "labels": {REGION: "us-west-2", **LABELS}, "max": 9},
}
QUEUE: dict[str, Any] = {
    "metadata": {"name": "visual"},
    "spec": {
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "nvidia.com/gpu", "memory"],
                "flavors": [
                    {
                        "name": "cpu",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "500", "borrowingLimit": "1k"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "0", "borrowingLimit": "0"},
                            {"name": "memory", "nominalQuota": "1P"},
                        ],
                    },
                    {
                        "name": "h100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "1536", "borrowingLimit": "3072"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "64", "borrowingLimit": "128"},
                            {"name": "memory", "nominalQuota": "1P"},
                        ],
                    },
                ],
            }
        ]
    },
    "status": {
        "flavorsReservation": [
            {
                "name": "h100",
                "resources": [
                    {"name": "cpu", "total": "1920", "borrowed": "384"},
                    {"name": "nvidia.com/gpu", "total": "80", "borrowed": "16"},
                    {"name": "memory", "total": "4Ti", "borrowed": "0"},
                ],
            }
        ],
        "pendingWorkloads": 1,
        "reservingWorkloads": 5,
        "admittedWorkloads": 4,
    },
}


def condition(kind: str, status: str, **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, **more}


def workload(name: str, *conditions: dict[str, str], **status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"job-{name}",
            "creationTimestamp": "2026-03-01T11:56:00Z",
            "ownerReferences": [{"name": name}],
        },
        "status": {
            "conditions": list(conditions),
            "resourceRequests": [
                {"name": "a", "resources": {"cpu": "8", "nvidia.com/gpu": "8"}},
                {"name": "b", "resources": {"cpu": "500m"}},
            ],
            **status,
        },
    }


def node(name: str, pool: str, *, ready: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {"longhaul.dev/pool": pool, "longhaul.dev/site": "colo", "longhaul.dev/kind": "gpu"},
        },
        "spec": more,
        "status": {
            "allocatable": {"cpu": "96", "nvidia.com/gpu": "8", "memory": "1Ti"},
            "conditions": [condition("Ready", str(ready))],
        },
    }


def pod(node_name: str | None, *, gpus: int, cpu: str, **spec: Any) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu, "nvidia.com/gpu": str(gpus)}}
    return {"metadata": {"name": "p"}, "spec": {"nodeName": node_name, "containers": [{"resources": requests}], **spec}}


def test_a_team_is_guaranteed_uses_and_borrows() -> None:
    found = team(QUEUE, [])
    cpu, h100 = found.uses
    assert (cpu.guaranteed, cpu.used, cpu.may_borrow) == (Amount(cores=500), Amount(), 1_000)
    assert h100.guaranteed == Amount(gpus=64, cores=1536)
    assert (h100.used, h100.borrowed) == (Amount(gpus=80, cores=1920), Amount(gpus=16, cores=384))
    assert (h100.may_borrow, found.running, found.waiting) == (128, 4, 2)


UNKNOWN = "couldn't assign flavors to pod set main: resource smarter-devices/fuse unavailable in ClusterQueue"


@pytest.mark.parametrize(
    ("conditions", "status", "waits_for"),
    [
        ([condition("QuotaReserved", "False", message="no quota")], {}, "its turn: no quota"),
        (
            [condition("QuotaReserved", "False", message=UNKNOWN)],
            {},
            "nothing: no queue knows smarter-devices/fuse; an administrator adds it to `extended_resources` in the "
            "environment's file",
        ),
        ([], {}, "its turn"),
        (
            [condition("QuotaReserved", "True"), condition("Admitted", "False")],
            {
                "admissionChecks": [
                    {"state": "Pending", "message": "asked us-west-2"},
                    {"state": "Ready", "message": "x"},
                ]
            },
            "nodes: asked us-west-2",
        ),
        (
            [condition("Evicted", "True", reason="Preempted"), condition("QuotaReserved", "False", message="no quota")],
            {},
            "ended (Preempted), waits again; its turn: no quota",
        ),
    ],
)
def test_a_job_says_what_it_waits_for(conditions: list[dict[str, str]], status: dict[str, Any], waits_for: str) -> None:
    (job,) = team(QUEUE, [workload("llama", *conditions, **status)]).jobs or ()
    assert (job.name, job.asks, job.waits_for) == ("llama", Amount(gpus=8, cores=8.5), waits_for)


def test_a_job_asks_for_what_is_set_aside_for_it() -> None:
    assigned = {"podSetAssignments": [{"name": "a", "resourceUsage": {"cpu": "22", "nvidia.com/gpu": "2"}}]}
    item = workload("llama", condition("QuotaReserved", "True"), admission=assigned, resourceRequests=None)
    (job,) = team(QUEUE, [item]).jobs or ()
    assert job.asks == Amount(gpus=2, cores=22)


def test_what_runs_or_has_ended_does_not_wait() -> None:
    assert not is_waiting(workload("a", condition("Admitted", "True")))
    assert not is_waiting(workload("a", condition("Finished", "True")))
    assert is_waiting(workload("a", condition("Admitted", "False")))


def found_pools(
    nodes: list[Any], pods: list[Any] | None, memory: DecisionMemory | None = None
) -> dict[str, PoolCapacity]:
    remembered = autoscaler_memory.of_text(autoscaler_memory.to_text(memory or DecisionMemory()))
    declared = of_text(json.dumps(DECLARED))
    return {one.name: one for one in pools(declared, nodes, pods, memory=remembered, now=NOW)}


def test_a_pool_without_nodes_is_there_and_what_its_cloud_was_asked_for() -> None:
    until = NOW + timedelta(minutes=4)
    memory = DecisionMemory(
        asked={"e-west": NOW - timedelta(seconds=40)},
        backoff={
            "h100": Backoff(
                failures=1,
                until=until,
                obstacle=Obstacle(WaitReason.OUT_OF_CAPACITY, "refused (capacity): none left"),
            ),
            "west": Backoff(
                failures=1, until=NOW - timedelta(minutes=1), obstacle=Obstacle(WaitReason.REFUSED, "over")
            ),
        },
    )
    found = found_pools([], [], memory)
    assert (found["west"].nodes, found["west"].most, found["west"].skipped) == (0, 9, "")
    assert found["west"].asked == NOW - timedelta(seconds=40)
    assert (found["h100"].skipped_until, found["h100"].asked) == (until, None)
    assert (found["h100"].reason, found["west"].reason) == ("OutOfCapacity", "")
    text = to_text(ClusterCapacity(at=NOW, teams=(), pools=tuple(found.values()), hidden=()))
    assert "refused (capacity): none left, asked again in 4 min" in text
    assert "us-west-2 was asked for more 40 s ago" in text


def test_free_is_what_ready_nodes_have_that_no_pod_requested() -> None:
    nodes = [
        node("a", "h100"),
        node("b", "h100", unschedulable=True),
        node("c", "h100", ready=False),
        node("new", "h100", taints=[{"key": "longhaul.dev/preflight"}]),
        node("host", "bare-metal"),
    ]
    before = [{"resources": {"requests": {"cpu": "20"}}}]
    pods = [pod("a", gpus=2, cpu="6"), pod("a", gpus=0, cpu="1", initContainers=before), pod(None, gpus=8, cpu="8")]
    found = found_pools(nodes, pods)
    h100, hosts = found["h100"], found["hosts"]
    assert (h100.nodes, h100.ready, h100.coming, h100.free) == (4, 2, 1, Amount(gpus=6, cores=70))
    assert (hosts.site, hosts.kind, hosts.most, hosts.free) == ("colo", "gpu", None, Amount(gpus=8, cores=96))
    assert found_pools(nodes, None)["h100"].free is None


def test_text_has_a_table_for_each_and_says_what_is_left_out() -> None:
    visual = team(QUEUE, [workload("llama", condition("QuotaReserved", "False", message="no quota"))])
    speech = replace(team(QUEUE, None), name="speech")
    found = ClusterCapacity(at=NOW, teams=(speech, visual), pools=(), hidden=("jobs of speech: not yours",))
    teams, jobs, hidden = to_text(found).split("\n\n")
    assert [line.split()[0] for line in teams.splitlines()] == ["TEAM", "speech", "h100", "visual", "h100"]
    assert "80 GPUs, 1,920 cores" in teams
    assert jobs.splitlines()[1].split("  ") == ["visual", "llama", "8 GPUs, 8.5 cores", "4 min", "its turn: no quota"]
    assert hidden == "not shown: jobs of speech: not yours"
    plain = json.loads(json.dumps(to_plain(found)))
    assert (plain["at"], plain["teams"][0]["jobs"]) == ("2026-03-01T12:00:00+00:00", None)


def test_a_team_whose_namespace_is_held_is_told_why() -> None:
    told = {"type": BEYOND_QUEUE, "status": "True", "message": "the queue has not admitted 1 pods: a\nb"}
    namespace = {"metadata": {"labels": {HELD_LABEL: "true"}}, "status": {"conditions": [told]}}
    held = team(QUEUE, (), refusal=refusal_of(namespace))
    text = to_text(ClusterCapacity(at=NOW, teams=(held,), pools=(), hidden=()))
    assert "\n\nvisual gets no new pods: the queue has not admitted 1 pods: a b" in text
    assert refusal_of({"metadata": {"labels": {}}, "status": {"conditions": [told]}}) == ""
    assert HELD_LABEL in refusal_of({"metadata": {"labels": {HELD_LABEL: ""}}})
    assert "gets no new pods" not in to_text(ClusterCapacity(at=NOW, teams=(team(QUEUE, ()),), pools=(), hidden=()))


def test_many_jobs_are_counted_and_what_others_wrote_forges_no_row() -> None:
    many = [
        workload(f"a{index:03}", condition("QuotaReserved", "False", message="x\nspeech  y"))
        for index in range(MANY + 2)
    ]
    text = to_text(ClusterCapacity(at=NOW, teams=(team(QUEUE, many),), pools=(), hidden=()))
    assert len(text.splitlines()) == 3 + 1 + 1 + MANY + 1
    assert "and 2 more" in text


class WithoutQueues:
    """An API without Kueue, as an environment without teams has it."""

    def now(self) -> datetime:
        return NOW

    def items(self, path: str, **_query: str) -> list[Object]:
        if path.startswith(KUEUE):
            raise ApiError("the server could not find the requested resource", status=404)
        return []

    def find(self, _path: str) -> Object | None:
        return None


def test_an_environment_without_teams_is_told_where_they_are_declared() -> None:
    found = CapacityReader(cast("ApiReader", WithoutQueues())).capacity()
    assert found.teams == ()
    assert NO_TEAMS in found.hidden
    assert "`teams` in its file" in NO_TEAMS
