"""Run of the preflight in its own process. NVIDIA's library belongs to the driver, which may be replaced between two
checks, may crash, or may block its caller for ever."""

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

PROGRAM = (sys.executable, str(Path(__file__).parents[1] / "longhaul-program"), "gpu.preflight")

LOOK_S = 120.0
"""Longest duration in seconds of everything but the trial. Without persistence, the driver takes seconds to wake each
GPU."""

ENDED_S = 2 * KILLED_S
"""Longest time in seconds to wait for a preflight after SIGTERM. For half of this time, the preflight may itself wait
for its trial."""

ANSWERS = (0, 1, 3)
"""Exit codes that come with a report."""


class NoReportError(Exception):
    """Raised if there is no report. The message says why."""


class PreflightRun:
    """Runner of the preflight, for one run at a time."""

    def __init__(self, program: Sequence[str] = PROGRAM, *, limit_s: float = LOOK_S, trial_s: float = TRIAL_S) -> None:
        self._program, self._limit_s, self._trial_s = tuple(program), limit_s, trial_s
        self._stuck: subprocess.Popen[bytes] | None = None

    def run(self, *, check: bool) -> dict[str, Any]:
        """Return the report as a JSON object. ``check`` adds the trial of memory and compute. Raise ``NoReportError``
        if there is no report."""
        if self._stuck is not None and self._stuck.poll() is None:
            raise NoReportError("an earlier preflight of the GPUs still hangs in the driver: reboot")
        self._stuck = None
        limit_s = self._limit_s + (self._trial_s if check else 0.0)
        command = [*self._program, "--json", *(() if check else ("--look-only",))]
        # A file, not a pipe: a process that cannot be killed would keep a pipe open. Its stderr goes to the journal.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self._end(process)
                how = f"did not end within {limit_s:.0f} s: the driver hangs; see the kernel log (NVRM)"
                raise NoReportError(f"the preflight of the GPUs {how}") from None
            output.seek(0)
            return _report(code, output.read())

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the preflight and all processes that it started. The trial has a session of its own, which only the
        preflight can end, so the preflight gets SIGTERM first. A process that waits inside the driver does not react,
        and perhaps cannot be killed. Such a process is remembered, so that no second preflight is started."""
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(ENDED_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(KILLED_S)
        except subprocess.TimeoutExpired:
            self._stuck = process


def _report(code: int, output: bytes) -> dict[str, Any]:
    if code in ANSWERS:
        with suppress(ValueError):
            report = json.loads(output)
            if isinstance(report, dict):
                return report
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    raise NoReportError(
        f"the preflight of the GPUs ended {how} and without a report: journalctl -u longhaul-gpu-preflight"
    )
