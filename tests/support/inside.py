"""Commands on machines of a lab, and its status, without an interpreter for each: tests ask hundreds of times."""

from __future__ import annotations

import subprocess

from lab.machine_commands import entering
from lab.state import LabError, LabState


def run_inside(state: LabState, machine: str, script: str, *, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Run a shell script on a machine, as ``longhaul shell`` does. A machine that does not run gives exit code 1."""
    words = ["sh", "-c", script]
    try:
        entered = entering(state, machine, words)
    except LabError as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))
    return subprocess.run(entered, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False)
