"""Three members: a change that replaces all takes them one at a time, and not while one is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.project import Project, environment

pytestmark = pytest.mark.lab

MEMBERS = ("three-etcd-0", "three-etcd-1", "three-etcd-2")


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("three", supernet="10.112.0.0/12", etcd=3)
    project = Project.make(tmp_path_factory.mktemp("replacement"), raw)
    try:
        project.up()
        yield project
    finally:
        project.lab("down", "--all", check=False)


def _generations(project: Project) -> dict[str, str]:
    """The cloud's id of each machine: another one is another machine."""
    exported = json.loads(project.engine("stack", "export").stdout)["deployment"]["resources"]
    machines = [r for r in exported if r["type"] == "azure-native:compute:VirtualMachine"]
    return {r["urn"].rpartition("::")[2]: r["outputs"]["vmId"] for r in machines}


def _with_quota(raw: dict[str, Any], quota: int) -> dict[str, Any]:
    control = raw["control_plane"]
    return {**raw, "control_plane": {**control, "etcd": {**control["etcd"], "quota_gib": quota}}}


def _lifecycle(project: Project) -> list[tuple[str, str]]:
    """(operation, machine) in the order in which the engine finished them, from its last run's event log."""
    lines = (project.path / "events.json").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    done = [event["resOutputsEvent"]["metadata"] for event in events if "resOutputsEvent" in event]
    steps = [
        (m["op"], m["urn"].rpartition("::")[2]) for m in done if m["type"] == "azure-native:compute:VirtualMachine"
    ]
    return [(op, machine) for op, machine in steps if op in ("delete-replaced", "create-replacement")]


def test_three_members_vote(project: Project) -> None:
    members = project.status()["stores"]["etcd"]["members"]
    assert sorted(member["name"] for member in members) == list(MEMBERS)
    assert all(member["healthy"] and not member["learner"] for member in members)


def test_replacing_all_members_takes_one_at_a_time_and_loses_nothing(project: Project) -> None:
    project.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    before = _generations(project)
    project.write(_with_quota(project.read(), 7))
    project.engine("up", "--yes", "--skip-preview", "--event-log", str(project.path / "events.json"))
    after = _generations(project)
    replaced = {name for name in before if before[name] != after[name]}
    assert replaced == set(MEMBERS)
    expected = [(op, member) for member in MEMBERS for op in ("delete-replaced", "create-replacement")]
    assert _lifecycle(project) == expected
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"
    assert project.status()["well"] is True


def test_a_member_is_not_deleted_when_its_store_would_lose_quorum(project: Project) -> None:
    before = _generations(project)
    project.on("three-etcd-2", "systemctl stop etcd")
    raw = project.read()
    project.write(_with_quota(raw, 6))
    try:
        done = project.longhaul("up", "--yes", check=False)
        assert done.returncode == 1
        assert "three-etcd-0 must stay" in done.stdout + done.stderr
        assert _generations(project) == before
        assert project.kubectl("get", "configmap", "kept").returncode == 0
    finally:
        project.on("three-etcd-2", "systemctl start etcd")


def test_the_same_change_goes_through_once_the_store_is_whole(project: Project) -> None:
    done = project.on(
        "three-etcd-2", "for i in $(seq 60); do longhaul-node ready >/dev/null && exit 0; sleep 1; done; exit 1"
    )
    assert done.returncode == 0
    before = _generations(project)
    project.longhaul("up", "--yes")
    assert {name for name, id_ in _generations(project).items() if id_ != before[name]} == set(MEMBERS)
    assert project.status()["well"] is True
