"""A pool on Azure: machines of a scale set join, run pods, keep their number through an `up`, and leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from components.model.versions.section import pinned
from tests.support.project import Project, eventually, hybrid, run
from tests.support.shared_lab import ready
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "azpool"
NODE = f"{ENV}-cpu-000000"
CALL = """
import json, sys
from pathlib import Path
from clouds.azure.live_groups import live_groups
from components.model import load
from components.model.sites.places import place_of
group = live_groups(place_of(load(Path(sys.argv[1])), "weu"), "cpu")["azpool-cpu"]
if len(sys.argv) > 2:
    group.resize(int(sys.argv[2]))
print(group.size())
"""


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid(ENV, supernet="10.176.0.0/12", etcd=1, events=1, api=1)
    raw["sites"] = {"weu": raw["sites"]["weu"]}
    raw["pools"] = {"cpu": {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 0, "max": 2}}
    del raw["bare_metal"]
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        yield project
    finally:
        project.lab("down", "--all", check=False)


def size(project: Project, *to: str) -> int:
    """Return the scale set's size, after it was set."""
    done = run([str(project.state / "enter"), sys.executable, "-c", CALL, str(project.stack_file), *to])
    return int(done.stdout)


def node(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.kubectl("get", "node", NODE, "--output=json").stdout)
    return found


def nodes(project: Project) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(project.kubectl("get", "nodes", "--output=json").stdout)["items"]
    return found


def test_the_pool_begins_empty(project: Project) -> None:
    project.up()
    project.await_healthy()
    assert (size(project), ready(project)) == (0, set())


def test_a_machine_of_a_scale_set_joins(project: Project) -> None:
    assert size(project, "1") == 1
    eventually(lambda: ready(project) == {NODE}, limit_s=600.0)
    found = node(project)
    assert found["metadata"]["labels"]["longhaul.dev/pool"] == "cpu"
    assert found["spec"]["providerID"].endswith("/virtualMachineScaleSets/azpool-cpu/virtualMachines/0")
    assert found["metadata"]["labels"]["topology.kubernetes.io/zone"].startswith("westeurope-")


def test_it_runs_pods_with_addresses_of_its_interface(project: Project) -> None:
    container = {"name": "agnhost", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["netexec", "--http-port=8080"]}
    spec = {"nodeName": NODE, "containers": [container], "terminationGracePeriodSeconds": 1}
    project.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec})
    project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", "pod/one")
    address = json.loads(project.kubectl("get", "pod", "one", "--output=json").stdout)["status"]["podIP"]
    assert project.on(f"{ENV}-api-0", f"curl -s -m 20 http://{address}:8080/hostname").stdout.strip() == "one"
    project.kubectl("delete", "pod", "one", "--now")


def test_an_up_with_another_change_leaves_the_size(project: Project) -> None:
    raw = project.read()
    raw["tags"] = {"team": "a"}
    project.write(raw)
    project.longhaul("up", "--yes")
    assert (size(project), ready(project)) == (1, {NODE})


def test_a_roll_renews_the_machines_in_their_place(project: Project) -> None:
    # Two, because a disruption budget keeps the add-ons of a single node where they are.
    both = {NODE, f"{ENV}-cpu-000001"}
    assert size(project, "2") == 2
    eventually(lambda: ready(project) == both, limit_s=600.0)
    raw = project.read()
    raw["pools"]["cpu"]["labels"] = {"longhaul.test/generation": "2"}
    project.write(raw)
    project.longhaul("up", "--yes", "--only", "infrastructure")
    before = node(project)["metadata"]
    done = project.longhaul("roll", "--pool", "cpu")
    assert "2 replaced" in done.stdout
    after = node(project)["metadata"]
    assert after["uid"] != before["uid"], "the Node of the disk that is gone was deleted"
    assert after["labels"]["longhaul.test/generation"] == "2"
    assert (size(project), ready(project)) == (2, both)


def test_their_nodes_go_with_the_machines(project: Project) -> None:
    # One at a time: when most of a site's machines are missing at once, no Node is deleted.
    for left in (1, 0):
        assert size(project, str(left)) == left
        eventually(lambda left=left: len(nodes(project)) == left, limit_s=600.0)
    assert project.phase(NODE) == ""
