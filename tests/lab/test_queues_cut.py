"""Every link is cut: Deployments are made in teams' namespaces and in kube-system, and a gang that runs goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.model.versions.section import pinned
from tests.support.project import Project, eventually, hybrid
from tests.support.queues import deployment, jobset, team_queue, team_space
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV, TEAM = "queues", "visual"


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid(ENV, supernet="10.176.0.0/12", etcd=1, events=1, api=2)
    raw["queues"] = True
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        project.up()
        project.create(team_space(TEAM))
        project.create({"apiVersion": "v1", "kind": "List", "items": team_queue(TEAM, cores="1")})
        yield project
    finally:
        project.lab("down", "--all", check=False)


@pytest.fixture(name="_cut")
def _all_links_cut(project: Project, running: dict[str, tuple[str, int]]) -> Iterator[list[str]]:
    """Cut all links between sites, once the gang runs."""
    assert running
    told = project.lab("tunnel", "none", "cut", check=False).stderr
    gateways = [name.strip(" .\n") for name in told.partition("there are ")[2].split(",")]
    assert gateways, told
    for name in gateways:
        project.lab("tunnel", name, "cut")
    yield gateways
    for name in gateways:
        project.lab("tunnel", name, "restore")
    project.await_healthy()


@pytest.fixture(name="pod")
def _pod() -> dict[str, Any]:
    """Pods that outlive a cut."""
    resources = {"requests": {"cpu": "100m"}}
    container = {"name": "a", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"], "resources": resources}
    return {"containers": [container], "priorityClassName": "longhaul-training", "terminationGracePeriodSeconds": 0}


def gang(project: Project) -> dict[str, tuple[str, int]]:
    """Return phase and restarts of the gang's pods, by uid."""
    selector = "jobset.sigs.k8s.io/jobset-name=gang"
    listed = project.kubectl("get", "pods", f"--namespace={TEAM}", f"--selector={selector}", "--output=json").stdout
    return {
        one["metadata"]["uid"]: (
            one["status"]["phase"],
            sum(container["restartCount"] for container in one["status"].get("containerStatuses") or ()),
        )
        for one in json.loads(listed)["items"]
    }


@pytest.fixture(name="running")
def _running(project: Project, pod: dict[str, Any]) -> dict[str, tuple[str, int]]:
    project.create(jobset("gang", {"leader": 1, "workers": 2}, pod, where=TEAM))
    eventually(lambda: [phase for phase, _ in gang(project).values()] == ["Running"] * 3)
    return gang(project)


@pytest.mark.usefixtures("_cut")
def test_nobody_waits_for_a_link(project: Project, pod: dict[str, Any], running: dict[str, tuple[str, int]]) -> None:
    plain = {key: value for key, value in pod.items() if key != "priorityClassName"}
    for where in (TEAM, "kube-system", "default"):
        project.create(deployment("during", plain, where=where))
        words = ("get", "replicasets", f"--namespace={where}", "--selector=app=during", "--output=name")
        eventually(lambda words=words: project.kubectl(*words).stdout != "", limit_s=30.0)
    project.create(jobset("next", {"a": 1}, pod, where=TEAM))
    assert gang(project) == running
