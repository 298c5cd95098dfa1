"""A loaded environment goes to the next versions of etcd and Kubernetes, machine by machine; nobody notices."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from components.model.versions.section import offered_versions
from longhaul.terminal.exits import Exit
from tests.support.control_plane import changed, generations, repeated, tried_twice
from tests.support.project import Project, environment, eventually
from tests.support.upgrading import assert_safe, broken_copy, give_image, loaded, running, wish

pytestmark = [pytest.mark.lab, pytest.mark.drill]

FIRST, PATCH, MINOR = offered_versions("etcd")
MEMBERS = tuple(f"steps-etcd-{index}" for index in range(3))
EVENTS = tuple(f"steps-events-{index}" for index in range(3))


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("steps", supernet="10.176.0.0/12", etcd=3, events=3, api=2)
    project = Project.make(tmp_path_factory.mktemp("upgrade"), raw)
    try:
        project.up()
        project.await_healthy()
        project.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        yield project
    finally:
        project.lab("down", "--all", check=False)


def test_a_step_that_etcd_does_not_support_is_refused_before_anything_runs(project: Project) -> None:
    before = generations(project)
    wish(project, image="1.0.2", etcd=MINOR)
    project.prepare()
    done = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
    assert done.returncode == Exit.REFUSED
    assert f"etcd would go from {FIRST} to {MINOR}." in done.stderr
    assert generations(project) == before


def test_an_image_with_another_version_is_refused_before_anything_runs(project: Project) -> None:
    before = generations(project)
    wish(project, image="1.0.2", etcd=PATCH)
    project.prepare()
    done = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
    assert done.returncode == Exit.REFUSED
    assert f"The image of weu contains etcd {MINOR}, but the environment wants {PATCH}." in done.stderr
    assert generations(project) == before


def test_a_patch_of_etcd_goes_in_under_load(project: Project, tmp_path: Path) -> None:
    assert running(project, MEMBERS + EVENTS, "etcd") == {FIRST}
    _goes_to(project, tmp_path, image="1.0.1", etcd=PATCH)


def test_the_next_minor_version_stops_at_a_member_that_does_not_come_up_and_is_taken_back(
    project: Project, tmp_path: Path
) -> None:
    before = generations(project)
    good = wish(project, image="1.0.2", etcd=MINOR)
    broken = wish(project, image="9.9.9")
    give_image(project, broken, broken_copy(project, good, tmp_path, unit="etcd"))
    said = tmp_path / "up.log"
    with said.open("w", encoding="utf-8") as log:
        up = project.longhaul_in_background("up", "--yes", "--only", "infrastructure", to=log)
        try:
            eventually(lambda: bool(_failing(project)) or up.poll() is not None)
        finally:
            _interrupt(up)
            print(said.read_text(encoding="utf-8"))
    # Each etcd cluster has turns of its own: one machine of each, and none after it. The API servers go on in theirs,
    # since this image breaks etcd alone.
    stuck, others = _failing(project), changed(before, generations(project))
    assert stuck
    assert all(len((stuck | others) & {*role}) <= 1 for role in (MEMBERS, EVENTS))
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"
    wish(project, image="1.0.1", etcd=PATCH)
    project.longhaul("up", "--yes", "--only", "infrastructure")
    project.await_healthy()
    assert running(project, MEMBERS + EVENTS, "etcd") == {PATCH}
    assert _failing(project) == set()
    assert stuck <= changed(before, generations(project)) <= stuck | others


def test_the_next_minor_version_of_etcd_goes_in_under_load(project: Project, tmp_path: Path) -> None:
    _goes_to(project, tmp_path, image="1.0.2", etcd=MINOR)


def test_there_is_no_way_back_once_every_member_runs_it(project: Project) -> None:
    before = generations(project)
    wish(project, image="1.0.1", etcd=PATCH)
    done = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
    assert done.returncode == Exit.REFUSED
    assert f"etcd would go from {MINOR} to {PATCH}." in done.stderr
    assert generations(project) == before


def _goes_to(project: Project, folder: Path, *, image: str, etcd: str) -> None:
    before = generations(project)
    wish(project, image=image, etcd=etcd)
    project.prepare()
    with loaded(project, folder) as verdict, repeated(lambda: tried_twice(project, "get", "configmap", "kept")) as said:
        project.longhaul("up", "--yes", "--only", "infrastructure")
    assert said == []
    assert_safe(project, verdict)
    assert changed(before, generations(project)) == set(before)
    assert running(project, MEMBERS + EVENTS, "etcd") == {etcd}
    project.await_healthy()


def _interrupt(up: subprocess.Popen[str]) -> None:
    """Interrupt a run, as an operator who sees that it waits for a machine: again, until it no longer waits."""
    while up.poll() is None:
        up.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            up.wait(timeout=5)
    assert up.returncode != 0


def _failing(project: Project) -> set[str]:
    """Return the members whose etcd did not come up for its wrong flag: the boots of their machines count as failed."""
    there = [one for one in MEMBERS + EVENTS if project.phase(one) in ("running", "failed")]
    script = "journalctl --unit=etcd --output=cat | grep --quiet no-such-flag"
    return {one for one in there if project.on(one, script, check=False).returncode == 0}
