"""The lab runs `longhaul up` again unless everything that it reads, or has written, is unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import up_record
from lab.project import LabProject

ENV = "lab"


def is_done(project: LabProject) -> bool:
    return up_record.is_done(project, up_record.what_it_reads(project))


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabProject:
    """A project whose last ``longhaul up`` succeeded."""
    monkeypatch.setattr(up_record, "PROJECT", tmp_path)
    project = LabProject(path=tmp_path, env=ENV)
    for path in (
        tmp_path / "components" / "pools.py",
        tmp_path / "stacks" / "Pulumi.lab.yaml",
        project.state.directory / "pulumi/.pulumi/stacks/longhaul/lab.json",
        project.state.init_file,
        *(tmp_path / name for name in up_record.PINS),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as it was")
    assert not is_done(project), "before the first"
    up_record.note_done(project, up_record.what_it_reads(project))
    return project


def test_nothing_is_to_be_done_where_nothing_changed(project: LabProject) -> None:
    assert is_done(project)


@pytest.mark.parametrize(
    "changed",
    [
        "components/pools.py",
        "components/new.py",
        "stacks/Pulumi.lab.yaml",
        "stacks/hosts.lab.yaml",
        "tools.toml",
        ".lab/lab/lab.json",
        ".lab/lab/pulumi/.pulumi/stacks/longhaul/lab.json",
    ],
    ids=lambda name: name.rpartition("/")[2],
)
def test_a_changed_file_is_work(project: LabProject, changed: str) -> None:
    (project.path / changed).write_text("changed")
    assert not is_done(project)


def test_what_it_does_not_read_is_none(project: LabProject) -> None:
    for name in ("tests/new.py", "docs/new.md", "components/__pycache__/pools.pyc"):
        (project.path / name).parent.mkdir(exist_ok=True, parents=True)
        (project.path / name).write_text("new")
    assert is_done(project)


def test_a_file_that_changed_meanwhile_is_work(project: LabProject) -> None:
    read = up_record.what_it_reads(project)
    (project.path / "components/pools.py").write_text("changed while it ran")
    up_record.note_done(project, read)
    assert not is_done(project)
