"""A loaded environment goes to the next minor version of Kubernetes, then its rack's kubelet; nobody notices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.model.versions.section import offered_versions
from longhaul.terminal.exits import Exit
from tests.support.control_plane import changed, generations, repeated, tried_twice
from tests.support.project import Project, hybrid
from tests.support.upgrading import assert_safe, loaded, running, wish

pytestmark = [pytest.mark.lab, pytest.mark.drill]

FIRST, NEXT = offered_versions("kubernetes")
SERVERS = ("minor-api-0", "minor-api-1")
NODE = "minor-node-0"


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid("minor", supernet="10.192.0.0/12", etcd=3, events=3, api=2)
    del raw["sites"]["use1"], raw["pools"]
    project = Project.make(tmp_path_factory.mktemp("upgrade"), raw)
    try:
        project.up()
        project.await_healthy()
        project.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        yield project
    finally:
        project.lab("down", "--all", check=False)


def _kubelet(project: Project) -> str:
    told = project.kubectl("get", "node", NODE, "-o", "jsonpath={.status.nodeInfo.kubeletVersion}").stdout
    return told.lstrip("v")


def test_a_plan_tells_which_deprecated_apis_are_in_use(project: Project) -> None:
    project.kubectl("get", "endpoints")
    wish(project, image="1.0.1", kubernetes=NEXT)
    project.prepare()
    made = json.loads(project.longhaul("plan", "--format", "json", check=False).stdout)
    assert "endpoints/v1 is in use, and a later version removes it." in [one["what"] for one in made["reasons"]]


def test_the_next_minor_version_goes_in_under_load_and_kubelets_stay(project: Project, tmp_path: Path) -> None:
    assert running(project, SERVERS, "kube-apiserver") == {FIRST}
    before = generations(project)
    with (
        loaded(project, tmp_path) as verdict,
        repeated(lambda: tried_twice(project, "get", "configmap", "kept")) as said,
    ):
        project.longhaul("up", "--yes")
    assert said == []
    assert_safe(project, verdict)
    assert changed(before, generations(project)) == set(before)
    assert running(project, SERVERS, "kube-apiserver") == {NEXT}
    project.await_healthy()
    assert _kubelet(project) == FIRST


def test_the_rack_is_rolled_to_the_new_kubelet(project: Project) -> None:
    project.longhaul("roll", "--pool", "hosts")
    assert _kubelet(project) == NEXT
    project.await_healthy()


def test_there_is_no_way_back_once_every_server_runs_it(project: Project) -> None:
    before = generations(project)
    wish(project, image="1.0.0", kubernetes=FIRST)
    project.prepare()
    done = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
    assert done.returncode == Exit.REFUSED
    assert f"Kubernetes would go from {NEXT} to {FIRST}." in done.stderr
    assert generations(project) == before
