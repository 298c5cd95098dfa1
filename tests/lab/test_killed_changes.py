"""``up --replace``, ``roll`` and Ansible, killed between their phases and at random points, are finished by the next
run: nothing is duplicated, stuck or left over."""

from __future__ import annotations

import json
import os
import random
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.support.cloud import instances
from tests.support.killed import command, killed_when, locks_of, processes_of, unknown_to_the_state
from tests.support.project import Project, eventually, hybrid, run

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "midway"
MEMBER = f"{ENV}-etcd-1"
POOL = "cpu"
GENERATION = "longhaul.test/generation"
KILLS = 5
"""Number of random points at which each command is killed."""
TRIES = 3 * KILLS
SEED = "LONGHAUL_TEST_SEED"
"""Variable that repeats the random points of an earlier run, which printed it."""

UNDO = {
    f"{ENV}-gw-0": "/etc/swanctl/conf.d/longhaul.conf /etc/strongswan.d/longhaul.conf /etc/longhaul/gateway.nft",
    f"{ENV}-node-0": "/etc/systemd/system/kubelet.service /etc/systemd/system/kube-proxy.service",
}
"""Files that Ansible puts back, by machine."""


def nothing(_project: Project) -> None:
    """Leave things as they are: the command itself always has work."""


def outdated(project: Project) -> None:
    """Make the pool's machines out of date."""
    raw = project.read()
    labels = raw["pools"][POOL].setdefault("labels", {})
    labels[GENERATION] = str(int(labels.get(GENERATION, "0")) + 1)
    project.write(raw)
    project.longhaul("up", "--yes", "--only", "infrastructure")


def undone(project: Project) -> None:
    """Take some of what Ansible did back."""
    for machine, files in UNDO.items():
        project.on(machine, f"rm -f {files}")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A command, how it is given work, and what it says as each of its phases begins."""

    words: tuple[str, ...]
    give_work: Callable[[Project], None]
    signs: tuple[str, ...]


CHANGES = {
    "replace": Change(
        words=("up", "--yes", "--verbose", "--replace", MEMBER),
        give_work=nothing,
        signs=(
            f"VirtualMachine {MEMBER} deleting",
            f"VirtualMachine {MEMBER} creating",
            f"Readiness {MEMBER}-ready updating",
        ),
    ),
    "roll": Change(
        words=("roll", "--pool", POOL, "--json"),
        give_work=outdated,
        signs=('"event": "cordoned"', '"event": "replacing"', '"event": "joining"'),
    ),
    "hosts": Change(
        words=("up", "--yes", "--verbose", "--only", "hosts"),
        give_work=undone,
        signs=("TASK [preflight", "TASK [gateway", "TASK [node", "TASK [machine_files", "TASK [settled"),
    ),
}


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid(ENV, supernet="10.160.0.0/12", etcd=3, events=1, api=1)
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        project.up()
        project.await_healthy()
        yield project
    finally:
        project.lab("down", "--all", check=False)


@pytest.fixture(name="change", params=list(CHANGES))
def _change(request: pytest.FixtureRequest) -> Change:
    return CHANGES[request.param]


def _is_finished(project: Project, change: Change) -> None:
    """Fail unless the next run brings everything into place, the one after it changes nothing, and nothing is left."""
    if change.words[0] == "roll":
        project.longhaul("roll", "--pool", POOL)
    project.longhaul("up", "--yes")
    project.await_healthy()
    done = project.longhaul("up", "--yes")
    assert "unchanged" in done.stdout + done.stderr
    assert not re.findall(r"\d+ (?:created|changed|replaced|removed)", done.stdout + done.stderr)
    assert "0 replaced" in project.longhaul("roll", "--pool", POOL).stdout
    hosts = json.loads(project.longhaul("hosts", "--json").stdout)["hosts"]
    assert {(host["state"], host["changed"]) for host in hosts.values()} == {("ready", 0)}
    machines = {item["name"] for item in json.loads(project.lab("status", "--json").stdout)["machines"]}
    roles = ("api-0", "etcd-0", "etcd-1", "etcd-2", "events-0", "gw-0", "node-0")
    assert machines == {*(f"{ENV}-{role}" for role in roles), *instances(project, f"{ENV}-{POOL}")}
    assert len(instances(project, f"{ENV}-{POOL}")) == 1
    assert not unknown_to_the_state(project, project.read()["sites"]["weu"]["subscription"])
    assert not locks_of(project)
    # A plugin of the run that has just ended may still be ending; a killed run's had enough time.
    eventually(lambda: not processes_of(project))


def test_it_is_killed_as_each_phase_begins(project: Project, change: Change) -> None:
    for sign in change.signs:
        change.give_work(project)
        assert killed_when(command(project, *change.words), lambda said, sign=sign: sign in said), sign
    _is_finished(project, change)


def test_it_is_killed_at_random_points(project: Project, change: Change) -> None:
    seed = int(os.environ.get(SEED) or secrets.randbelow(10**6))
    chance = random.Random(seed)
    change.give_work(project)
    whole = len(run(command(project, *change.words)).stdout.splitlines())
    kills = 0
    for _ in range(TRIES):
        if kills < KILLS:
            change.give_work(project)
            line = chance.randrange(1, whole)
            print(f"{SEED}={seed} repeats this: killed after line {line} of {whole}")
            kills += killed_when(command(project, *change.words), lambda said, line=line: said.count("\n") >= line)
    assert kills == KILLS
    _is_finished(project, change)
