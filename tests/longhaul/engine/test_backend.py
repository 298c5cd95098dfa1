"""State and locks that are read from a file backend without the engine."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from longhaul.engine.backend import Backend, current_backend


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///var/lib/state", Path("/var/lib/state")),
        ("file:///with%20space", Path("/with space")),
        ("file:///a?no_tmp_dir=true", Path("/a")),
        ("file://~", Path.home()),
        ("azblob://state", None),
        ("", None),
    ],
)
def test_only_a_file_backend_is_a_folder(url: str, folder: Path | None) -> None:
    assert Backend(url=url).folder == folder


def test_the_variable_wins_over_the_project_and_that_over_the_login(tmp_path: Path) -> None:
    home = {"PULUMI_HOME": str(tmp_path)}
    (tmp_path / "credentials.json").write_text(json.dumps({"current": "https://login"}))
    project = {"backend": {"url": "s3://project"}}
    assert current_backend(project, {**home, "PULUMI_BACKEND_URL": "file:///x"}).url == "file:///x"
    assert current_backend(project, home).url == "s3://project"
    assert current_backend({}, home).url == "https://login"
    assert current_backend({}, {"PULUMI_HOME": str(tmp_path / "none")}).url == ""


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_state_is_read_plain_and_compressed(tmp_path: Path, ending: str) -> None:
    raw = json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [1]}}}).encode()
    path = tmp_path / ".pulumi" / "stacks" / "p" / f"s.json{ending}"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(raw) if ending else raw)
    assert Backend(url=f"file://{tmp_path}").state("p", "s") == {"resources": [1]}


def test_a_new_stack_has_an_empty_state_and_a_missing_one_none(tmp_path: Path) -> None:
    path = tmp_path / ".pulumi" / "stacks" / "p" / "s.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 3, "checkpoint": {"latest": None}}))
    backend = Backend(url=f"file://{tmp_path}")
    assert backend.state("p", "s") == {}
    assert backend.state("p", "other") is None


def test_a_lock_is_read_as_the_engine_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi" / "locks" / "organization" / "p" / "s"
    folder.mkdir(parents=True)
    content = {"pid": 7, "username": "ann", "hostname": "box", "timestamp": "2026-01-02T03:04:05.123456789+01:00"}
    (folder / "id.json").write_text(json.dumps(content))
    (folder / "id.json.attrs").write_text("{}")
    (lock,) = Backend(url=f"file://{tmp_path}").locks("p", "s")
    assert (lock.pid, lock.user, lock.host) == (7, "ann", "box")
    assert lock.since == datetime(2026, 1, 2, 2, 4, 5, 123456, tzinfo=UTC)


def test_a_damaged_lock_is_somebodys(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi" / "locks" / "organization" / "p" / "s"
    folder.mkdir(parents=True)
    (folder / "id.json").write_text("{")
    (lock,) = Backend(url=f"file://{tmp_path}").locks("p", "s")
    assert lock.pid == 0
    assert lock.host == ""
