"""The wheel holds all that the environment files need: whoever installed it writes, checks and shows them without a
checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.longhaul.init.asked import LEAST


@pytest.fixture(name="installed", scope="module")
def _installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(name="project")
def _project(root: Path, tmp_path: Path) -> Path:
    """A project with no environment."""
    (tmp_path / "stacks").mkdir()
    shutil.copy(root / "Pulumi.yaml", tmp_path)
    return tmp_path


def said(installed: Path, folder: Path, *words: str) -> str:
    """Run the installed command in a folder. With ``-S`` Python does not see the checkout, whose path is in a file of
    its site-packages."""
    path = os.pathsep.join((str(installed), sysconfig.get_path("purelib")))
    done = subprocess.run(
        [sys.executable, "-S", "-m", "longhaul", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_example_is_shown_anywhere(installed: Path, tmp_path: Path) -> None:
    assert "hybrid" in said(installed, tmp_path, "show", "--example", "hybrid")


def test_an_environment_is_begun_and_checked(installed: Path, project: Path) -> None:
    said(installed, project, "init", *LEAST, "--yes")
    assert said(installed, project, "validate").startswith("train: valid, with 1 warning\n")
