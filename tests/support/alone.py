"""Runs a test as a program in namespaces of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import tools
from tests.support.project import REPOSITORY

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces of its own, so root")


def run_alone(module: str, name: str, folder: Path) -> None:
    """Run ``python -m MODULE NAME FOLDER``, which needs the engine; AssertionError with its output when it fails.
    Nothing that it starts survives it."""
    tools.ensure(["pulumi"], log_dir=folder, progress=print)
    alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inner = [sys.executable, "-m", module, name, str(folder)]
    done = subprocess.run([*alone, *inner], cwd=REPOSITORY, text=True, capture_output=True, timeout=3600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}"
