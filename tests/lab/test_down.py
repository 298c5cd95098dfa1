"""The end of the shared lab: the protection of an environment, and a removal that leaves nothing."""

from __future__ import annotations

import pytest

from lab.state import LabState
from lab.teardown import leftovers
from tests.support.project import Project
from tests.support.shared_lab import SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.as_it_is()


def test_an_environment_that_is_not_destroyable_stays(project: Project) -> None:
    raw = project.read()
    project.write({**raw, "destroyable": False})
    try:
        assert project.longhaul("destroy", "--yes", check=False).returncode == 1
    finally:
        project.write(raw)
    assert project.kubectl("get", "--raw", "/readyz").stdout.strip() == "ok"


def test_destroy_and_down_leave_nothing(project: Project) -> None:
    project.longhaul("destroy", "--yes")
    project.lab("down", "--all")
    assert leftovers(LabState.of(project.env, root=project.path / ".lab")) == []
    assert not (project.path / ".lab").exists()
