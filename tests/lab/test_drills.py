"""Drills on a whole control plane of three members: nothing acknowledged is lost, and all heals by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.drill.catalogue import DRILLS
from tests.support.project import Project, hybrid

pytestmark = [pytest.mark.lab, pytest.mark.drill]


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid("drills", supernet="10.160.0.0/12", etcd=3, events=1, api=2)
    project = Project.make(tmp_path_factory.mktemp("drills"), raw)
    try:
        project.up()
        project.await_healthy()
        yield project
    finally:
        project.lab("down", "--all", check=False)


@pytest.mark.parametrize("name", [name for name, drill in DRILLS.items() if not drill.long])
def test_nothing_is_lost(name: str, project: Project, tmp_path: Path) -> None:
    done = project.lab("drill", name, "--report", str(tmp_path))
    (found,) = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["drills"]
    assert found["passed"], done.stdout
    assert found["verdict"]["acknowledged"] > 0
