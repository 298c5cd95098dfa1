"""Three short drills on the shared lab; all of them are in :mod:`tests.lab.test_drills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import Project
from tests.support.shared_lab import SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def test_an_api_server_and_the_events_may_fail_and_nothing_is_lost(project: Project, tmp_path: Path) -> None:
    done = project.lab("drill", "server-killed", "leader-killed", "events-stopped", "--report", str(tmp_path))
    assert done.stdout.count(": safe; ") == 3
