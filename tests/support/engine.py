"""Runs the real engine by its command line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LIMIT_S = 1500

QUICK_PIP = str(Path(__file__).parent / "quick_pip")
"""Folder for PYTHONPATH with a stand-in for pip: the language host starts it in each run, only to learn which packages
of Pulumi are installed."""


def printed(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], fails: bool = False) -> str:
    """Return everything that it prints; ``fails``: it has to fail."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout
