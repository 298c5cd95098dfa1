"""The client as a person has it: its wheel in a virtual environment with nothing else."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.support.project import REPOSITORY


def install(folder: Path) -> Path:
    """Build the wheel and install it below ``folder``; return the folder with its programs."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "wheel")]
    subprocess.run(build, cwd=REPOSITORY / "client", check=True, capture_output=True)
    (wheel,) = (folder / "wheel").glob("longhaul_client-*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    programs = folder / "venv" / "bin"
    pip = [
        sys.executable,
        "-m",
        "pip",
        f"--python={programs / 'python'}",
        "install",
        "--quiet",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    return programs
