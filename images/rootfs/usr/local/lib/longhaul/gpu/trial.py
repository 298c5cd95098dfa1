"""Trial of the GPUs' memory and compute with a command that the environment may declare."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from contract.documents.node import CHECK_S
from gpu.findings import Code, GpuFinding

LIMIT_S = CHECK_S
"""Longest duration of a trial in seconds. A trial that takes longer hangs: a GPU that does not answer blocks its
programs for ever."""

KILLED_S = 5.0
"""Longest time in seconds to wait for a killed process. A process inside the driver perhaps cannot be killed."""

SAID_LINES = 5
SAID_BYTES = 4096
"""The finding quotes the end of the trial's output: at most this number of bytes."""


def run(command: tuple[str, ...], *, limit_s: float = LIMIT_S) -> list[GpuFinding]:
    """Run the command. Return no finding if it ends with 0."""
    # A file for the output, not a pipe: a process that cannot be killed would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        process: subprocess.Popen[bytes] | None = None
        try:
            # A SIGTERM between the trial's start and the end of this statement would leave a trial that nobody knows.
            with _held_back(signal.SIGTERM):
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
            code = process.wait(limit_s)
        except OSError as error:
            return [_failed(command, f"cannot be started: {error.strerror}")]
        except subprocess.TimeoutExpired:
            return [_failed(command, f"did not end within {limit_s:.0f} s")]
        finally:
            # The time limit has passed, or this process was ended: nothing else reaches the trial's process group.
            if process is not None and process.returncode is None:
                _kill(process)
        if code == 0:
            return []
        output.seek(max(0, output.seek(0, os.SEEK_END) - SAID_BYTES))
        words = output.read().decode(errors="replace").strip().splitlines()[-SAID_LINES:]
    return [_failed(command, f"exit code {code}" + (f": {' | '.join(words)}" if words else ""))]


@contextmanager
def _held_back(number: signal.Signals) -> Iterator[None]:
    """Delay the signal until the end of the block. The signal is not blocked, because a process that is started in the
    block would inherit a blocked signal."""
    came: list[int] = []

    def note(which: int, _: FrameType | None) -> None:
        came.append(which)

    before = signal.signal(number, note)
    try:
        yield
    finally:
        signal.signal(number, before)
        if came:
            signal.raise_signal(number)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)


def _failed(command: tuple[str, ...], how: str) -> GpuFinding:
    return GpuFinding(code=Code.CHECK_FAILED, message=f"{' '.join(command)}: {how}")
