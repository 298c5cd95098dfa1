"""The command that tries memory and compute of the GPUs, where the environment names one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import suppress

from gpu.findings import Code, Finding

LIMIT_S = 900.0
"""A trial that takes longer hangs: a GPU that does not answer keeps its programs waiting for ever."""

KILLED_S = 5.0
"""How long one that was killed is waited for: a program inside the driver may not be killed at all."""

SAID_LINES = 5
SAID_BYTES = 4096
"""How much of its last words is in the finding."""


def run(command: tuple[str, ...], *, limit_s: float = LIMIT_S) -> list[Finding]:
    """Run it; nothing is found when it ends with 0."""
    # A file for its output, not a pipe, which a program that cannot be killed would keep open.
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            return [_failed(command, f"cannot be started: {error.strerror}")]
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return [_failed(command, f"did not end within {limit_s:.0f} s")]
        finally:
            # Whoever ends this look, for its time is over or it was told to: nobody else reaches the trial's group.
            if process.returncode is None:
                _kill(process)
        if code == 0:
            return []
        said.seek(max(0, said.seek(0, os.SEEK_END) - SAID_BYTES))
        words = said.read().decode(errors="replace").strip().splitlines()[-SAID_LINES:]
    return [_failed(command, f"exit code {code}" + (f": {' | '.join(words)}" if words else ""))]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)


def _failed(command: tuple[str, ...], how: str) -> Finding:
    return Finding(code=Code.CHECK_FAILED, message=f"{' '.join(command)}: {how}")
