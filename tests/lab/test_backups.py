"""Backups in a lab of their own: no machine is made anew for them, followers make them, and a key has them back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import tools
from tests.support.control_plane import generations, kept_project
from tests.support.project import Project, environment, eventually

pytestmark = [pytest.mark.lab, pytest.mark.drill]


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("saved", supernet="10.224.0.0/12", etcd=3)
    with kept_project(tmp_path_factory.mktemp("backups"), raw) as project:
        yield project


@pytest.fixture(scope="module", name="key")
def _key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("key")
    found = tools.ensure(["age"], log_dir=folder, progress=print)
    subprocess.run([found["age-keygen"], "-o", folder / "key.txt"], check=True, capture_output=True)
    return folder / "key.txt"


def _saved(project: Project) -> dict[str, str]:
    clusters = project.status()["etcd_clusters"]
    return {name: (one["backup"] or {}).get("verdict", "") for name, one in clusters.items()}


def test_backups_begin_by_themselves_and_can_be_had_back(project: Project, key: Path) -> None:
    machines = generations(project)
    recipient = next(line.split()[-1] for line in key.read_text().splitlines() if "public key" in line)
    project.write(project.read() | {"backups": {"recipients": [recipient], "every_minutes": 1}})
    project.longhaul("up", "--yes")
    assert generations(project) == machines
    eventually(lambda: _saved(project) == {"etcd": "ok", "events": "ok"})
    assert project.status()["healthy"]

    leader = next(one["name"] for one in project.status()["etcd_clusters"]["etcd"]["members"] if one["leader"])
    said = project.longhaul("backups", "--now", "--verify", str(key))
    print(said.stdout, said.stderr)
    assert said.stderr.count("is good: revision") == 2
    listed = json.loads(project.longhaul("backups", "--json").stdout)
    assert len(listed["etcd"]) >= 2
    assert leader not in {one["member"] for one in listed["etcd"]}
    assert listed["etcd"][-1]["kept"] == "daily"


def test_a_member_can_make_backups_in_its_own_name_and_nothing_else(project: Project) -> None:
    script = """
import json, pathlib, sys, tempfile
sys.path.insert(0, "/usr/local/lib/longhaul")
from vault import fetch_secrets
from backup.storage import Storage, StorageError
from contract.azure import STORAGE
from machine.managed_identity import OwnIdentity
told = json.loads(fetch_secrets.open_vault().read("backups"))
storage = Storage(url=told["url"], token=OwnIdentity(audience=STORAGE).token)
name = next(storage.backups("daily", "etcd")).name
junk = pathlib.Path(tempfile.mkdtemp()) / "junk"
junk.write_text("junk")
for call in (
    lambda: storage._ask("DELETE", f"daily/{name}"),
    lambda: list(storage.backups("daily", "events")),
    lambda: storage.put("daily", "events/2039-01-01T000000Z-saved-events-0.db.gz.age", junk, {}),
    lambda: storage.put("daily", "etcd/2039-01-01T000000Z-saved-etcd-1.db.gz.age", junk, {}),
    lambda: storage.put("daily", "etcd/2039-01-01T000000Z-saved-etcd-0.db.gz.age", junk, {}),
):
    try:
        call()
    except StorageError as error:
        print(error)
"""
    said = project.on("saved-etcd-0", f"python3 -c '{script}'").stdout
    assert said.count("403 AuthorizationPermissionMismatch") == 4
    assert len(said.splitlines()) == 4

    def told() -> str:
        return str(project.status()["etcd_clusters"]["etcd"]["message"])

    eventually(lambda: "1 blob in the storage" in told())
    assert "daily/etcd/2039-01-01T000000Z-saved-etcd-0.db.gz.age: its format is not said" in told()
    listed = json.loads(project.longhaul("backups", "--etcd", "etcd", "--json").stdout)["etcd"]
    assert [one["name"].split("/")[-1][:4] for one in listed if one["flaw"]] == ["2039"]


def test_backups_that_are_declared_stay_declared(project: Project) -> None:
    declared = project.read()
    project.write({key: value for key, value in declared.items() if key != "backups"})
    refused = project.longhaul("up", "--yes", check=False)
    project.write(declared)
    assert refused.returncode != 0
    assert "backups.daily_days: 90 -> none" in refused.stdout + refused.stderr


def test_everything_of_it_goes_with_the_environment(project: Project) -> None:
    project.longhaul("destroy", "--yes")
