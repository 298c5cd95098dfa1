"""Queues in the whole cluster: both programs on each API server machine, and jobs that wait for what a team may use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.model.teams.queues import MANAGERS
from components.model.versions.section import pinned
from tests.support.project import Project, eventually
from tests.support.queues import job, jobset, team_queue, team_space
from tests.support.shared_lab import SERVERS, SharedLab
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

TEAM = "motion"


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    project.create(team_space(TEAM))
    project.create({"apiVersion": "v1", "kind": "List", "items": team_queue(TEAM, cores="300m")})
    yield project
    project.kubectl("delete", "namespace", TEAM)
    project.kubectl("delete", "clusterqueue", TEAM)
    project.kubectl("delete", "resourceflavor", "any")


@pytest.fixture(name="pod")
def _pod() -> dict[str, Any]:
    """Pods that run until they are deleted."""
    container = {
        "name": "a",
        "image": f"{IMAGE}:{pinned('agnhost')}",
        "args": ["pause"],
        "resources": {"requests": {"cpu": "100m"}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": 0}


def running(project: Project, selector: str) -> int:
    words = ("get", "pods", f"--namespace={TEAM}", f"--selector={selector}", "--output=json")
    items = json.loads(project.kubectl(*words).stdout)["items"]
    return sum(one["status"]["phase"] == "Running" for one in items)


def suspended(project: Project, kind: str, name: str) -> bool:
    found = project.kubectl("get", kind, name, f"--namespace={TEAM}", "--output=json").stdout
    return bool(json.loads(found)["spec"].get("suspend"))


def test_both_run_on_every_api_server_machine(project: Project) -> None:
    for machine in SERVERS:
        for manager in MANAGERS:
            assert project.on(machine, f"systemctl is-active {manager.name}").stdout.strip() == "active"
        checks = json.loads(project.on(machine, "longhaul-node status").stdout)["checks"]
        assert {one["name"] for one in checks if one["ok"]} >= {manager.name for manager in MANAGERS}


def test_a_job_waits_for_what_its_team_may_use(project: Project, pod: dict[str, Any]) -> None:
    project.create(job("first", 2, pod, where=TEAM))
    eventually(lambda: running(project, "job-name=first") == 2)
    project.create(jobset("gang", {"leader": 1, "workers": 2}, pod, where=TEAM))
    assert suspended(project, "jobset", "gang")
    project.kubectl("delete", "job", "first", f"--namespace={TEAM}")
    eventually(lambda: running(project, "jobset.sigs.k8s.io/jobset-name=gang") == 3)
    project.kubectl("delete", "jobset", "gang", f"--namespace={TEAM}")


def test_another_machine_leads_when_the_leader_s_program_ends(project: Project, pod: dict[str, Any]) -> None:
    def leader() -> str:
        words = ("get", "lease", "kueue", "--namespace=longhaul-queues", "--output=jsonpath={.spec.holderIdentity}")
        return project.kubectl(*words).stdout.partition("_")[0]

    first = leader()
    assert first in SERVERS
    project.on(first, "systemctl stop kueue")
    try:
        eventually(lambda: leader() not in ("", first))
        # Where it is stopped, that API server refuses a team's job, and nobody else's.
        eventually(lambda: _made(project, job("held", 1, pod, where=TEAM)))
    finally:
        project.on(first, "systemctl start kueue")
    project.await_healthy()


def _made(project: Project, value: dict[str, Any]) -> bool:
    return project.create(value, check=False).returncode == 0
