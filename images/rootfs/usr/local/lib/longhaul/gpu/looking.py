"""A look at the GPUs in a process of its own: NVIDIA's library is the driver's, which may be replaced between two
looks, crash, or keep whoever asks it waiting for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpu.trial import KILLED_S
from gpu.trial import LIMIT_S as TRIAL_S

PROGRAM = (sys.executable, str(Path(__file__).parents[1] / "gpu_preflight.py"))

LOOK_S = 120.0
"""For everything besides the trial: without persistence the driver takes seconds for each GPU to wake."""

ENDED_S = 2 * KILLED_S
"""How long one that was told to end is waited for: it may itself wait for its trial for half of it."""

ANSWERS = (0, 1, 3)
"""Exit codes of a report."""


class BrokeOffError(Exception):
    """There is no report; the message says why."""


class Looking:
    """Starts looks, one at a time."""

    def __init__(self, program: Sequence[str] = PROGRAM, *, limit_s: float = LOOK_S, trial_s: float = TRIAL_S) -> None:
        self._program, self._limit_s, self._trial_s = tuple(program), limit_s, trial_s
        self._stuck: subprocess.Popen[bytes] | None = None

    def look(self, *, check: bool) -> dict[str, Any]:
        """The report as a JSON object, with the trial of memory and compute or without. ``BrokeOffError``."""
        if self._stuck is not None and self._stuck.poll() is None:
            raise BrokeOffError("an earlier look at the GPUs still hangs in the driver: reboot")
        self._stuck = None
        limit_s = self._limit_s + (self._trial_s if check else 0.0)
        command = [*self._program, "--json", *(() if check else ("--look-only",))]
        # A file, not a pipe, which a process that cannot be killed would keep open. Its other words are the journal's.
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, start_new_session=True)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self._end(process)
                how = f"did not end within {limit_s:.0f} s: the driver hangs; see the kernel log (NVRM)"
                raise BrokeOffError(f"the look at the GPUs {how}") from None
            said.seek(0)
            return _report(code, said.read())

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """It and all that it started: its trial has a session of its own, which only it can end, so it is told first.
        Who waits inside the driver hears nothing, and may not be killed at all: remembered, so that no second one joins
        it."""
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(ENDED_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(KILLED_S)
        except subprocess.TimeoutExpired:
            self._stuck = process


def _report(code: int, said: bytes) -> dict[str, Any]:
    if code in ANSWERS:
        with suppress(ValueError):
            report = json.loads(said)
            if isinstance(report, dict):
                return report
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    raise BrokeOffError(f"the look at the GPUs ended {how} and without a report: journalctl -u longhaul-gpu-preflight")
