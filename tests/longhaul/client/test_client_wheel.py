"""The client's wheel in a bare environment: its commands, its version, and what it needs, which is nothing."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import longhaul.client
from longhaul.client.kubeconfig import own_plugin
from longhaul.terminal.exits import Exit
from tests.longhaul.client.test_profile import PROFILE
from tests.support.client_wheel import install

MODULES = [one.name for one in pkgutil.walk_packages(longhaul.client.__path__, "longhaul.client.")]


@pytest.fixture(name="programs", scope="module")
def _programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the client's programs."""
    return install(tmp_path_factory.mktemp("client"))


def run(programs: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``longhaul`` as a person of that home does, whose PATH has nothing else."""
    return subprocess.run(
        [programs / "longhaul", *words],
        cwd=folder,
        env={"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_has_all_modules_and_needs_nothing(programs: Path) -> None:
    (wheel,) = (programs.parents[1] / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    assert "Requires-Dist" not in metadata
    paths = {name.replace(".", "/") for name in MODULES}
    assert {f"{path}.py" for path in paths} <= names | {
        f"{path}.py" for path in paths if f"{path}/__init__.py" in names
    }
    assert {name for name in names if not name.endswith(".py") and ".dist-info/" not in name} == set()


def test_every_module_is_imported_with_the_standard_library_alone(programs: Path) -> None:
    load = f"import sys, {', '.join(MODULES)}; print('\\n'.join(sys.modules))"
    done = subprocess.run([programs / "python", "-I", "-c", load], capture_output=True, text=True, check=True)
    tops = {name.partition(".")[0] for name in done.stdout.split()}
    assert tops - {"__main__", "contract", "longhaul"} <= {*sys.stdlib_module_names}


@pytest.mark.parametrize("command", ["login", "vpn", "capacity"])
def test_a_command_has_help_with_exit_codes(programs: Path, tmp_path: Path, command: str) -> None:
    done = run(programs, tmp_path, command, "--help")
    assert (done.returncode, "--profile FILE" in done.stdout, "exit codes:" in done.stdout) == (0, True, True), (
        done.stderr
    )
    assert command in run(programs, tmp_path, "--help").stdout


def test_the_version_is_the_project_s(programs: Path, tmp_path: Path, root: Path) -> None:
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert run(programs, tmp_path, "--version").stdout == f"longhaul-client {version}\n"


def test_wrong_usage_and_failures_end_as_the_main_program_s(programs: Path, tmp_path: Path) -> None:
    assert run(programs, tmp_path).returncode == Exit.USAGE
    assert run(programs, tmp_path, "up").returncode == Exit.USAGE
    none = run(programs, tmp_path, "login")
    assert (none.returncode, "there is no profile yet: --profile FILE" in none.stderr) == (Exit.USAGE, True)
    (tmp_path / "old.json").write_text(replace(PROFILE, expires="2020-01-01T00:00:00+00:00").text())
    old = run(programs, tmp_path, "login", "--profile", "old.json")
    assert (old.returncode, "expired on 2020-01-01" in old.stderr) == (Exit.FAILED, True)
    for name in ("a", "b"):
        kept = tmp_path / ".config/longhaul" / name / "profile.json"
        kept.parent.mkdir(parents=True)
        kept.write_text("{}")
    several = run(programs, tmp_path, "login")
    assert (several.returncode, "a/profile.json" in several.stderr, "b/profile.json" in several.stderr) == (
        2,
        True,
        True,
    )


def test_what_kubectl_runs_is_in_it(programs: Path, tmp_path: Path) -> None:
    """The kubeconfig that it writes has the Python of its own environment."""
    words = own_plugin(tmp_path / "none.json", issuer=None, device=False)["args"]
    done = subprocess.run(
        [programs / "python", *words],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "none.json cannot be read" in done.stderr, done.stdout) == (Exit.FAILED, True, "")
