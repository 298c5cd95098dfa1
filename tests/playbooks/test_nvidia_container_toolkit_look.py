"""Settings of containerd that role nvidia_container_toolkit reads itself, also where containerd might refuse them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.modules import module_at

ROLE = Path(__file__).resolve().parents[2] / "playbooks" / "roles" / "nvidia_container_toolkit"
LOOK = module_at(ROLE / "files" / "look.py")
RUNC = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = {}\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, False),
        ({"conf.d/10.toml": "true"}, True),
        ({"conf.d/10.toml": "true", "conf.d/90.toml": "false"}, False),
        ({"config.toml": "true", "conf.d/10.toml": "false"}, False),
        ({"config.toml": "true"}, True),
        ({"other/a.toml": "true"}, True),
    ],
)
def test_the_last_file_counts(tmp_path: Path, files: dict[str, str], said: bool) -> None:
    head = f'version = 3\nimports = ["{tmp_path}/conf.d/*.toml", "{tmp_path}/other/*.toml"]\n'
    for name in ("conf.d", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "config.toml").write_text(head)
    for name, value in files.items():
        with (tmp_path / name).open("a") as file:
            file.write(RUNC.format(value))
    assert LOOK.systemd_cgroup(tmp_path / "config.toml", f"{tmp_path}/conf.d/*.toml") is said


@pytest.mark.parametrize("text", [None, "", "imports = 3", "version ="])
def test_longhauls_folder_counts_before_containerd_was_ever_started(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/10.toml").write_text(RUNC.format("true"))
    (tmp_path / "conf.d/50.toml").write_text("broken = ")
    if text is not None:
        (tmp_path / "config.toml").write_text(text)
    assert LOOK.systemd_cgroup(tmp_path / "config.toml", f"{tmp_path}/conf.d/*.toml") is True
