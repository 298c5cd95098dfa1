"""The accountant's acts upon differences: when it closes a namespace, when it opens it, when it does nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.conditions import BEYOND_QUEUE
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object
from contract.labels import HELD_LABEL
from services.accountant.accountant import Accountant
from services.accountant.comparison import JobOwner, RunningPod, TeamState, Workload
from services.accountant.metrics import METRICS
from services.accountant.times import COLLECTED_S, CONFIRM_S, EVICTED_S, FINISHED_S, LOOK_S
from services.accountant.watched_teams import WatchedTeams
from services.metrics import ServiceMetrics

USED = {"cpu": 1000, "memory": 1, "pods": 1}
OWNER = JobOwner(uid="job", name="train", parent="", ends=False, is_pinned=False)


def pod(name: str) -> RunningPod:
    return RunningPod(uid=name, name=name, controller="job", job="job", requests=USED, made=name, ends="")


def workload(*, finished: bool = False, **more: Any) -> Workload:
    return Workload(owners=("job",), usage=USED, finished=finished, **more)


def team(
    *pods: str, workloads: tuple[Workload, ...] = (workload(),), jobs: tuple[JobOwner, ...] = (OWNER,)
) -> TeamState:
    return TeamState(
        pods=[pod(name) for name in pods],
        jobs={job.uid: job for job in jobs},
        jobsets={},
        workloads=workloads,
        nominal=USED,
    )


class Teams(WatchedTeams):
    """One team, as a test sets it."""

    def __init__(self) -> None:
        self.namespace: Object = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "visual", "uid": "u", "labels": {}},
            "condition": None,
        }
        self.copy = self.listed = team("p1")
        self.wrong = ""
        self.has_queue = True

    def trouble(self) -> str:
        return self.wrong

    def namespaces(self) -> dict[str, Object]:
        return {"visual": self.namespace}

    def queue(self, team: str) -> Object | None:
        metadata = {"name": "default", "namespace": team, "uid": "q"}
        return {"apiVersion": "v1", "kind": "LocalQueue", "metadata": metadata} if self.has_queue else None

    def take_touched(self) -> set[str]:
        return {"visual"}

    def state(self, team: str) -> TeamState:
        return self.copy

    def listed_state(self, team: str) -> TeamState:
        return self.listed


class Recorded(Api):
    """An API that takes every write, and shows it to the teams."""

    def __init__(self, teams: Teams) -> None:
        self._teams = teams
        self.reasons: list[str] = []
        self.refuses = False
        self.seconds = 0.0
        self.writes: list[tuple[str, Object]] = []
        self.jobset: Object = {"metadata": {"uid": "set", "resourceVersion": "7"}, "status": {}}

    def get(self, path: str, *, accept: str = "", **query: str) -> Object:
        assert path.endswith("/jobsets/js")
        return self.jobset

    def patch(self, path: str, body: Object, *, strategic: bool = False) -> Object:
        if self.refuses:
            raise ApiError("refused", status=500)
        if not strategic:
            self.writes.append((path.rpartition("visual/")[2], body))
            return {}
        if path.endswith("/status"):
            (self._teams.namespace["condition"],) = body["status"]["conditions"]
        for label, value in body.get("metadata", {}).get("labels", {}).items():
            if value is None:
                self._teams.namespace["metadata"]["labels"].pop(label, None)
            else:
                self._teams.namespace["metadata"]["labels"][label] = value
        return {}

    def post(self, path: str, body: Object) -> Object:
        self.reasons.append(body["reason"])
        return {}

    def now(self) -> datetime:
        return datetime(2026, 11, 29, 10, tzinfo=UTC) + timedelta(seconds=self.seconds)


class World:
    """An accountant, one team, and a clock."""

    def __init__(self) -> None:
        self.teams = Teams()
        self.api = Recorded(self.teams)
        self.metrics = ServiceMetrics(METRICS)
        self.time, self.leads = 0.0, True
        self.accountant = Accountant(
            self.api,
            self.teams,
            instance="test",
            metrics=self.metrics,
            leads=lambda: self.leads,
            clock=lambda: self.time,
        )

    def set(self, state: TeamState) -> None:
        self.teams.copy = self.teams.listed = state

    def look(self, seconds: float = LOOK_S) -> None:
        """Look repeatedly for a time."""
        until = self.time + seconds
        while self.time < until:
            self.time += LOOK_S
            self.api.seconds = self.time
            self.accountant.look()

    def closed(self) -> bool:
        return HELD_LABEL in self.teams.namespace["metadata"]["labels"]

    @property
    def condition(self) -> Object | None:
        condition: Object | None = self.teams.namespace["condition"]
        return condition


@pytest.fixture(name="world")
def _world() -> World:
    return World()


def test_a_lasting_difference_closes_the_namespace_and_is_told(world: World) -> None:
    world.set(team("p1", "p2"))
    world.look()
    assert not world.closed(), "one look is not enough"
    world.look(CONFIRM_S)
    assert world.closed()
    condition = world.condition
    assert condition is not None
    assert (condition["type"], condition["status"], condition["reason"]) == (BEYOND_QUEUE, "True", "MoreThanAdmitted")
    assert "p2 (MoreThanAdmitted)" in condition["message"]
    assert world.api.reasons == ["PodsBeyondQueue", "PodsBeyondQueue", "BeyondQueue"]
    text = world.metrics.text()
    assert 'longhaul_accountant_pods_beyond_queue{team="visual",reason="MoreThanAdmitted"} 1' in text
    world.look(60)
    assert len(world.api.reasons) == 3, "it is told once"
    assert 'longhaul_accountant_team_held{team="visual"} 1' in world.metrics.text()


def test_a_namespace_within_its_queue_again_is_opened(world: World) -> None:
    world.set(team("p1", "p2"))
    world.look(CONFIRM_S + LOOK_S)
    assert world.closed()
    world.set(team("p1"))
    world.look()
    assert world.closed(), "one look is not enough"
    world.look(CONFIRM_S)
    assert not world.closed()
    condition = world.condition
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "WithinQueue")
    assert world.api.reasons[-1] == "WithinQueue"


@pytest.mark.parametrize("later", ["p3", "p1"])
def test_other_pods_in_each_look_are_no_lasting_difference(world: World, later: str) -> None:
    """Kueue has just admitted a job, or a job has just ended: each pod is beyond the queue for one look."""
    for index in range(10):
        world.set(team("p1", f"q{index}") if index % 2 else team(later))
        world.look()
    assert not world.closed()
    assert world.condition is None


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (FINISHED_S, team("p1", workloads=(workload(finished=True),))),
        (COLLECTED_S, team("p1", workloads=(), jobs=())),
        (COLLECTED_S, team("p1", workloads=(), jobs=(replace(OWNER, ends=True),))),
    ],
    ids=["its job has finished", "its job is gone", "its job waits for it"],
)
def test_the_time_in_which_a_pod_must_be_told_to_end_has_an_end(world: World, after: float, state: TeamState) -> None:
    world.set(state)
    world.look(after)
    assert not world.closed()
    world.look(LOOK_S)
    assert world.closed()


def test_a_job_that_runs_on_after_its_eviction_is_suspended(world: World) -> None:
    """Its pods need not be the same: a job that goes on replaces them."""
    child = replace(OWNER, parent="set")
    jobset = JobOwner(uid="set", name="js", parent="", ends=False, is_pinned=False)
    evicted = replace(workload(evicted="2026-11-29T10:00:00Z"), owners=("set",))
    statuses = [{"name": "w", "active": 1, "ready": 1}, {"name": "lead", "active": 0, "ready": 0}]
    world.api.jobset["status"]["replicatedJobsStatus"] = statuses
    for name in ("p1", "p2"):
        world.set(replace(team(name, workloads=(evicted,), jobs=(child,)), jobsets={"set": jobset}))
        world.look(EVICTED_S / 2)
    assert world.api.writes == []
    assert not world.closed()
    world.look(CONFIRM_S)
    assert world.closed()
    (status, counted), (job, suspended) = world.api.writes
    assert (status, job) == ("jobsets/js/status", "jobs/train")
    assert counted["status"]["replicatedJobsStatus"] == [{**each, "active": 0} for each in statuses]
    assert counted["metadata"] == {"uid": "set", "resourceVersion": "7"}
    assert suspended == {"metadata": {"uid": "job"}, "spec": {"suspend": True}}
    world.look(60)
    assert world.api.reasons.count("EvictedJobSuspended") == 1
    assert 'longhaul_accountant_jobs_ended_total{team="visual"} 1' in world.metrics.text()


def test_the_api_has_the_last_word(world: World) -> None:
    world.teams.copy = team("p1", "p2")
    world.look(60)
    assert not world.closed()
    world.teams.listed = world.teams.copy
    world.look(2 * CONFIRM_S)
    assert world.closed()


def test_nothing_is_changed_while_anything_cannot_be_read(world: World) -> None:
    world.set(team("p1", "p2"))
    world.teams.wrong = "/apis/kueue.x-k8s.io/v1beta2/workloads: not found"
    world.look(60)
    assert not world.closed()
    assert "longhaul_accountant_looks_failed_total 30\n" in world.metrics.text()
    world.teams.wrong = ""
    world.look(CONFIRM_S + LOOK_S)
    assert world.closed()
    world.set(team("p1"))
    world.teams.wrong = "silence"
    world.look(60)
    assert world.closed()


def test_a_refused_write_is_tried_again(world: World) -> None:
    world.set(team("p1", "p2"))
    world.api.refuses = True
    world.look(CONFIRM_S + LOOK_S)
    assert not world.closed()
    world.api.refuses = False
    world.look()
    assert world.closed()


def test_who_leads_no_more_writes_nothing(world: World) -> None:
    world.set(team("p1", "p2"))
    world.leads = False
    world.look(60)
    assert not world.closed()


def test_a_namespace_without_a_queue_is_left_alone_and_opened(world: World) -> None:
    world.set(team("p1", "p2"))
    world.teams.has_queue = False
    world.look(60)
    assert not world.closed()
    world.teams.namespace["metadata"]["labels"][HELD_LABEL] = "true"
    world.look(CONFIRM_S + LOOK_S)
    assert not world.closed()


def test_who_leads_anew_keeps_a_namespace_closed(world: World) -> None:
    world.teams.namespace["metadata"]["labels"][HELD_LABEL] = "true"
    world.set(team("p1", "p2"))
    world.look(60)
    assert world.closed()


def test_a_condition_does_not_outlast_a_label_that_somebody_removed(world: World) -> None:
    world.set(team("p1", "p2"))
    world.look(CONFIRM_S + LOOK_S)
    world.set(team("p1"))
    del world.teams.namespace["metadata"]["labels"][HELD_LABEL]
    world.look(CONFIRM_S + LOOK_S)
    assert (world.condition or {})["status"] == "False"


def test_a_long_list_of_pods_is_shortened(world: World) -> None:
    world.set(team(*(f"p{index:04}" for index in range(2000))))
    world.look(CONFIRM_S + LOOK_S)
    condition = world.condition
    assert condition is not None
    assert "the queue has not admitted 1999 pods" in condition["message"]
    assert "and 1989 others" in condition["message"]
    assert world.api.reasons.count("BeyondQueue") == 5
