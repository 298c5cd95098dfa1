"""The checks of `longhaul acceptance` as an operator runs them; they restart API servers and scale a pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.project import Project
from tests.support.shared_lab import ENV, SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.drill]


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def test_acceptance_of_what_is_there(project: Project, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    done = project.longhaul("acceptance", "--reuse", "--yes", "--json", "--report", str(report), check=False)
    found = json.loads(done.stdout)
    results = {check["name"]: check["result"] for check in found["checks"]}
    assert found["accepted"], json.dumps(found, indent=1)
    assert [name for name, result in results.items() if result != "passed"] == ["gpus"]
    assert report.read_text(encoding="utf-8").startswith(f"# Acceptance of {ENV}")
    assert project.kubectl("get", "namespace", "longhaul-acceptance", check=False).returncode != 0
