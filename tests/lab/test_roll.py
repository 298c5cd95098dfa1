"""A roll of a pool in the lab: the free machine goes first, the busy one at its checkpoint, and the next run continues
a killed one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from components.model.versions.section import pinned
from tests.support.cloud import instances
from tests.support.project import REPOSITORY, Project, eventually
from tests.support.shared_lab import ENV, GROUP, POOL, SharedLab, nodes, ready
from tests.support.workload import IMAGE, pod

pytestmark = [pytest.mark.lab, pytest.mark.drill]

JOB = "job"


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


@pytest.fixture(scope="module", name="before")
def _before(project: Project) -> list[str]:
    """Machines that are to be replaced."""
    return instances(project, GROUP)


@pytest.fixture(scope="module", name="busy")
def _busy(project: Project, before: list[str]) -> str:
    """The one of them that is busy."""
    busy = before[0]
    spec = {
        "nodeName": busy,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"]}],
    }
    project.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": JOB}, "spec": spec})
    project.kubectl("wait", "--for=condition=Ready", "--timeout=120s", f"pod/{JOB}")
    return busy


def _ready(project: Project) -> dict[str, dict[str, Any]]:
    """Return the ready nodes of the pool by name."""
    well = ready(project)
    items = nodes(project, f"--selector=longhaul.dev/pool={POOL}")
    return {item["metadata"]["name"]: item for item in items if item["metadata"]["name"] in well}


def _dry_run(project: Project) -> dict[str, Any]:
    lines = project.longhaul("roll", "--pool", POOL, "--dry-run", "--json").stdout.splitlines()
    return dict(json.loads(lines[-1]))


def test_a_pool_that_is_as_it_should_be_is_left_alone(project: Project, before: list[str]) -> None:
    done = project.longhaul("roll", "--pool", POOL)
    assert "2 current; 0 replaced" in done.stdout
    assert instances(project, GROUP) == before


def test_up_changes_what_machines_are_made_from_and_no_machine(project: Project, before: list[str], busy: str) -> None:
    """Another image would have the same effect as other user data: a new version of the launch template."""
    raw = project.read()
    raw["pools"][POOL]["labels"] = {"longhaul.test/generation": "2"}
    project.write(raw)
    # The cluster too: by its document the node controller corrects the labels with which nodes register.
    project.longhaul("up", "--yes")
    assert instances(project, GROUP) == before
    (free,) = set(before) - {busy}
    assert _dry_run(project)["nodes"] == {free: "free", busy: "busy"}


def test_the_free_one_goes_first_and_the_run_is_killed_while_the_other_waits(
    project: Project, before: list[str], busy: str
) -> None:
    executable = str(Path(sys.executable).with_name("longhaul"))
    words = [executable, "roll", "--project", str(project.path), "--env", ENV, "--pool", POOL, "--json"]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            events = []
            for line in process.stdout:
                events.append(json.loads(line))
                if events[-1]["event"] == "waiting":
                    break
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert (events[-1]["node"], events[-1]["detail"]) == (busy, f"waits for default/{JOB}")
    (free,) = set(before) - {busy}
    assert [event["node"] for event in events if event["event"] == "replacing"] == [free]
    left = instances(project, GROUP)
    assert free not in left
    assert busy in left
    assert pod(project, JOB)["status"]["phase"] == "Running"
    assert _ready(project)[busy]["spec"]["unschedulable"] is True


def test_the_next_run_goes_on_and_takes_the_other_at_its_checkpoint(project: Project, busy: str) -> None:
    uid = pod(project, JOB)["metadata"]["uid"]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    project.kubectl("annotate", "pod", JOB, f"longhaul.dev/checkpointed-at={now}")
    done = project.longhaul("roll", "--pool", POOL, "--json")
    *events, report = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["node"] for event in events if event["event"] in ("released", "replacing")] == [busy, busy]
    assert (report["healthy"], report["replaced"]) == (True, 1)
    assert uid not in project.kubectl("get", "pods", "--output=jsonpath={.items[*].metadata.uid}").stdout


def test_the_pool_is_another(project: Project, before: list[str]) -> None:
    after = instances(project, GROUP)
    assert len(after) == 2
    assert not set(after) & set(before)
    # The controller removes a Node some time after the machine is gone.
    eventually(lambda: set(_ready(project)) == set(after))
    ready = _ready(project)
    assert {item["metadata"]["labels"]["longhaul.test/generation"] for item in ready.values()} == {"2"}
    assert not any(item["spec"].get("unschedulable") for item in ready.values())
    assert set(_dry_run(project)["nodes"].values()) == {"current"}
