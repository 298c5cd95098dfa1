"""Other tools may edit containerd's main file, as long as Longhaul's folder is still read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from containerd import config as containerd_config
from containerd.config import FOLDER, TEXT, ensure, imports, main

EDITED = f"""\
imports = ["{FOLDER}", "/etc/containerd/other/*.toml"]
version = 3

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
"""


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "containerd" / "config.toml"


def test_a_file_that_is_missing_is_made(path: Path) -> None:
    assert ensure(path) == f"{path} is made"
    assert tomllib.loads(path.read_text()) == {"version": 3, "imports": [FOLDER]}
    assert path.stat().st_mode & 0o777 == 0o644
    assert ensure(path) == ""


@pytest.mark.parametrize("text", [TEXT, EDITED])
def test_what_other_tools_wrote_stays(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    assert ensure(path) == ""
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        'disabled_plugins = ["cri"]\n',
        f'version = 2\nimports = ["{FOLDER}"]\n',
        'version = 3\nimports = ["/etc/containerd/elsewhere/*.toml"]\n',
        f'version = 3\nimports = "{FOLDER}"\n',
        "version = ",
    ],
)
def test_what_would_leave_longhauls_settings_out_is_replaced_and_kept(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    kept = path.with_name("config.toml.before-longhaul")
    assert str(kept) in ensure(path)
    assert kept.read_text() == text
    assert imports(path.read_text())
    assert ensure(path) == ""


def test_what_is_no_text_is_replaced_too(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe")
    assert "made anew" in ensure(path)


def test_a_run_that_was_killed_in_between_is_made_good(path: Path) -> None:
    path.parent.mkdir()
    path.with_name(".config.toml.new").write_text("half")
    ensure(path)
    assert path.read_text() == TEXT
    assert not path.with_name(".config.toml.new").exists()


def test_where_it_cannot_be_written_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "file" / "config.toml")]) == 1
    assert "containerd would run without Longhaul's settings" in capsys.readouterr().err


def test_it_looks_where_containerd_looks() -> None:
    assert str(containerd_config.PATH) == "/etc/containerd/config.toml"
