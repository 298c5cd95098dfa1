"""Both etcd clusters lose their quorum for good, and come back from their backups; the restore is killed on its way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.model.versions.section import pinned
from lab import tools
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.terminal.exits import Exit
from tests.support.control_plane import generations
from tests.support.project import Project, eventually, hybrid
from tests.support.shared_lab import ready
from tests.support.workload import IMAGE, pod

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "lost"
LOST = (f"{ENV}-etcd-1", f"{ENV}-etcd-2", f"{ENV}-events-0")
KEPT, LATE = 5, 3
"""Numbers of objects that are written before the backup, and after it."""
KILLED_AT = ("stopping etcd", "making new data", "starting the API servers")


@pytest.fixture(scope="module", name="key")
def _key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("key")
    found = tools.ensure(["age"], log_dir=folder, progress=print)
    subprocess.run([found["age-keygen"], "-o", folder / "key.txt"], check=True, capture_output=True)
    return folder / "key.txt"


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Iterator[Project]:
    recipient = next(line.split()[-1] for line in key.read_text().splitlines() if "public key" in line)
    raw = hybrid(ENV, supernet="10.224.0.0/12", etcd=3, events=1, api=1)
    raw["sites"] = {"weu": raw["sites"]["weu"]}
    raw["pools"] = {"cpu": {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 1, "max": 1}}
    # The timer makes no backup meanwhile, only who asks.
    raw["backups"] = {"recipients": [recipient], "every_minutes": 60}
    del raw["bare_metal"]
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        project.up()
        yield project
    finally:
        project.lab("down", "--all", check=False)


def _write(project: Project, name: str) -> int:
    made = project.kubectl("create", "configmap", name, "--from-literal=a=b", "--output=json").stdout
    return int(json.loads(made)["metadata"]["resourceVersion"])


def _written(project: Project, kind: str) -> int:
    found = json.loads(project.kubectl("get", "configmaps", "--output=json").stdout)["items"]
    return sum(one["metadata"]["name"].startswith(kind) for one in found)


def _life(project: Project) -> tuple[str, int]:
    found = pod(project, "train")
    return str(found["metadata"]["uid"]), int(found["status"]["containerStatuses"][0]["restartCount"])


def _etcd(project: Project) -> dict[str, Any]:
    return dict(project.status()["etcd_clusters"])


def _killed(project: Project, key: Path, sign: str) -> str:
    """Begin a restore, kill it when it says that it does something, and return what it said."""
    said = []
    with project.longhaul_in_background("restore", "--yes", "--key", str(key)) as process:
        for line in process.stdout or ():
            said.append(line)
            if sign in line:
                process.kill()
                break
        else:
            raise AssertionError(f"it ended with {process.wait()} before it said {sign!r}: {''.join(said)}")
    return "".join(said)


def test_what_was_saved_is_back_and_nothing_runs_backwards(project: Project, key: Path) -> None:
    eventually(lambda: len(ready(project)) == 1)
    project.await_healthy()
    machines = generations(project)
    (node,) = ready(project)
    container = {"name": "train", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"]}
    spec = {"nodeName": node, "containers": [container]}
    project.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec})
    project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", "pod/train")
    life = _life(project)
    for number in range(KEPT):
        _write(project, f"kept-{number}")
    project.kubectl("create", "secret", "generic", "kept", "--from-literal=word=quicksilver")
    project.longhaul("backups", "--now")
    # What the backup's Secrets were encrypted with, no API server has any more.
    project.longhaul("rotate", "secrets-encryption")
    newest = max(_write(project, f"late-{number}") for number in range(LATE))

    refused = project.longhaul("restore", "--yes", "--key", str(key), check=False)
    assert (refused.returncode, "there is a quorum" in refused.stderr) == (Exit.REFUSED, True), refused.stderr

    for machine in LOST:
        project.on(machine, "systemctl stop longhaul-etcd.target etcd")
    for machine in LOST:
        project.on(machine, "rm -rf /var/lib/longhaul/ssd/etcd; systemctl start --no-block longhaul-etcd.target")
    for name, found in _etcd(project).items():
        assert found["verdict"] == "down", (name, found)
        assert f"restore with `longhaul restore --env {ENV}" in found["message"]

    for sign in KILLED_AT:
        print(_killed(project, key, sign))
        half = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
        assert (half.returncode, "is incomplete" in half.stdout + half.stderr) == (Exit.REFUSED, True), half.stderr
    done = project.longhaul("restore", "--yes", "--json", "--key", str(key))
    print(done.stdout, done.stderr)

    result = json.loads(done.stdout)["etcd_clusters"]
    assert set(result) == {"etcd", "events"}
    assert (_written(project, "kept-"), _written(project, "late-")) == (KEPT, 0)
    assert project.kubectl("get", "secret", "kept", "--output=jsonpath={.data.word}").stdout == "cXVpY2tzaWx2ZXI="
    assert _write(project, "new") > newest + BUMP // 2
    project.await_healthy()
    assert _life(project) == life
    assert generations(project) == machines
    assert ready(project) == {node}


def test_the_former_key_is_retired_again(project: Project) -> None:
    (half,) = json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"]
    assert half["keys"] == ["key2", "key1"]
    assert json.loads(project.longhaul("rotate", "secrets-encryption", "--json").stdout)["keys"] == ["key2"]
    assert json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"] == []


def test_backups_go_on_with_what_was_restored(project: Project, key: Path) -> None:
    said = project.longhaul("backups", "--now", "--verify", str(key))
    assert said.stderr.count("is good: revision") == 2
    listed = json.loads(project.longhaul("backups", "--json").stdout)
    assert all(those[0]["revision"] > BUMP for those in listed.values())
    assert project.longhaul("up", "--yes", check=False).returncode == Exit.OK
