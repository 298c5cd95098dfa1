"""A learner of the main etcd cluster in a lab of its own: it never votes, is in nobody's way, has its data back with
its disk, and saves the last acknowledged write when all voting members are lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import tools
from tests.support.control_plane import changed, generations, repeated, tried_twice, with_part
from tests.support.project import Project, environment, eventually

pytestmark = [pytest.mark.lab, pytest.mark.drill]

VOTERS = tuple(f"learn-etcd-{index}" for index in range(3))
LEARNER = "learn-etcd-learner"
DECLARED = {"zone": "2", "machine_type": "Standard_D8s_v5"}
WRITE = ("annotate", "configmap", "kept", "--overwrite", "longhaul.test/written=again")


@pytest.fixture(scope="module", name="key")
def _key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("key")
    found = tools.ensure(["age"], log_dir=folder, progress=print)
    subprocess.run([found["age-keygen"], "-o", folder / "key.txt"], check=True, capture_output=True)
    return folder / "key.txt"


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Iterator[Project]:
    recipient = next(line.split()[-1] for line in key.read_text().splitlines() if "public key" in line)
    raw = environment("learn", supernet="10.176.0.0/12", etcd=3)
    raw["backups"] = {"recipients": [recipient], "every_minutes": 60}
    project = Project.make(tmp_path_factory.mktemp("learn"), with_part(raw, "etcd", learner=DECLARED))
    try:
        project.up()
        project.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        yield project
    finally:
        project.lab("down", "--all", check=False)


def _members(found: dict[str, Any]) -> dict[str, bool]:
    """Return the members of the main etcd cluster, and whether each is a learner."""
    return {member["name"]: member["learner"] for member in found["etcd_clusters"]["etcd"]["members"]}


def _id(project: Project) -> str:
    """Return the learner's id, as a voting member knows it."""
    members = json.loads(project.on(VOTERS[0], "longhaul-node status").stdout)["members"]
    return str(next(member["id"] for member in members if member["name"] == LEARNER))


def _revision(project: Project) -> int:
    """Return the newest revision that the learner has, as it says itself."""
    script = """
import sys
sys.path.insert(0, "/usr/local/lib/longhaul")
from etcd.client import Etcdctl
from machine.config import PKI, client_url
from contract.documents.node import NodeConfig
etcdctl = Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")
print(etcdctl.status(client_url(NodeConfig.read().address)).revision)
"""
    return int(project.on(LEARNER, f"python3 -c '{script}'").stdout)


def test_it_joins_and_stays_a_learner(project: Project) -> None:
    found = project.await_healthy()
    assert _members(found) == {**dict.fromkeys(VOTERS, False), LEARNER: True}
    (disk,) = [
        check
        for check in json.loads(project.on(LEARNER, "longhaul-node status").stdout)["checks"]
        if check["name"] == "disk"
    ]
    assert disk["ok"], disk
    project.on(LEARNER, "systemctl restart etcd-promote")
    eventually(lambda: "stays a learner" in project.on(LEARNER, "journalctl -u etcd-promote -o cat").stdout)
    servers = project.on("learn-api-0", "cat /run/longhaul-api/etcd-servers.env").stdout
    assert servers.partition("--etcd-servers-overrides")[0].count("https://") == len(VOTERS)
    assert _members(project.await_healthy())[LEARNER]


def test_a_voting_member_is_replaced_beside_it(project: Project) -> None:
    before = generations(project)
    with repeated(lambda: tried_twice(project, *WRITE)) as complaints:
        project.longhaul("up", "--yes", "--only", "infrastructure", "--replace", VOTERS[1])
    assert complaints == []
    assert changed(before, generations(project)) == {VOTERS[1]}
    assert _members(project.await_healthy()) == {**dict.fromkeys(VOTERS, False), LEARNER: True}


def test_its_machine_is_replaced_and_its_data_is_there(project: Project) -> None:
    before, member = generations(project), _id(project)
    project.longhaul("up", "--yes", "--only", "infrastructure", "--replace", LEARNER)
    assert changed(before, generations(project)) == {LEARNER}
    assert _members(project.await_healthy())[LEARNER]
    assert _id(project) == member
    said = project.on(LEARNER, "journalctl -u etcd -o cat").stdout
    assert f"{LEARNER}: start" in said, "it starts with its data, and does not join anew"
    assert (
        'longhaul_disk_sync_limit_seconds{quantile="0.99"}'
        in project.on(LEARNER, "cat /var/lib/longhaul/metrics/disk-gate.prom").stdout
    )


def test_without_it_the_cluster_is_degraded_and_works(project: Project) -> None:
    project.on(LEARNER, "systemctl stop longhaul-etcd.target etcd")
    found = project.status()["etcd_clusters"]["etcd"]
    assert (found["verdict"], "the learner" in found["message"]) == ("degraded", True), found
    project.kubectl(*WRITE)
    project.on(LEARNER, "systemctl start longhaul-etcd.target")
    project.await_healthy()


def test_it_is_taken_out_with_its_disk_and_declared_again(project: Project) -> None:
    before, member = generations(project), _id(project)
    project.write(with_part(project.read(), "etcd", learner=None))
    project.longhaul("up", "--yes", "--only", "infrastructure")
    assert set(before) - set(generations(project)) == {LEARNER}
    assert _members(project.await_healthy()) == dict.fromkeys(VOTERS, False)
    project.write(with_part(project.read(), "etcd", learner=DECLARED))
    project.longhaul("up", "--yes", "--only", "infrastructure")
    assert changed(before, {**generations(project)}) == {LEARNER}
    assert _members(project.await_healthy())[LEARNER]
    assert _id(project) != member


def test_the_last_acknowledged_write_is_saved_when_all_voting_members_are_lost(project: Project, key: Path) -> None:
    written = int(project.kubectl(*WRITE, "--output=jsonpath={.metadata.resourceVersion}").stdout)
    eventually(lambda: _revision(project) >= written)
    for machine in VOTERS:
        project.on(machine, "systemctl stop longhaul-etcd.target etcd; rm -rf /var/lib/longhaul/ssd/etcd")
    assert project.status()["etcd_clusters"]["etcd"]["verdict"] == "down"
    newest = _revision(project)

    refused = project.longhaul("backups", "--now", "--etcd", "etcd", check=False)
    assert "no member of etcd made a backup" in refused.stderr
    said = project.longhaul("backups", "--now", "--from-learner", "--verify", str(key))
    assert "is good: revision" in said.stderr
    saved = json.loads(project.longhaul("backups", "--etcd", "etcd", "--json").stdout)["etcd"][0]
    print(f"written {written}, the learner had {newest}, saved {saved['revision']} by {saved['member']}")
    assert (saved["member"], saved["revision"]) == (LEARNER, newest)
    assert saved["revision"] >= written


def test_everything_of_it_goes_with_the_environment(project: Project) -> None:
    project.longhaul("destroy", "--yes")
