"""Runs the real engine by its command line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.engine.backend import Backend
from longhaul.engine.throwaway import unlogged_home

LIMIT_S = 1500

QUICK_PIP = str(Path(__file__).parent / "quick_pip")
"""Folder for PYTHONPATH with a stand-in for pip: the language host starts it in each run, only to learn which packages
of Pulumi are installed."""


def engine_home(folder: Path) -> dict[str, str]:
    """Make a home for the engine in ``folder``, in which it writes no logs: they are up to half of its work. Return the
    variable with the home."""
    return unlogged_home(folder / "home", {"PULUMI_HOME": str(folder / "none")})


def resources(folder: Path, stack: str) -> list[dict[str, Any]]:
    """Return the resources in the state of a stack in the file backend ``folder``, as ``pulumi stack export`` shows
    them: the engine takes most of a second of processor for it."""
    state = Backend(url=f"file://{folder}").state("longhaul", stack)
    return list((state or {}).get("resources") or [])


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
