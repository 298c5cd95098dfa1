"""Runs the production program, ``longhaul``, as a step of the lab's commands."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from lab.steps import LabStep

INTERRUPTED = 130
"""Exit code of a command that was interrupted."""


class TerminatedError(KeyboardInterrupt):
    """Raised when only this process is asked to end."""


class StepFailedError(Exception):
    """Raised when a command of a step failed; its log has the reason."""


def longhaul(path: Path, env: str, step: LabStep, command: str, *arguments: str, shown: bool) -> str:
    """Run a command of ``longhaul`` on an environment of the project ``path``, and return its output. The step's log
    has the output; with ``shown``, the output is also printed as it comes.

    Raise :class:`StepFailedError`, with the end of the output unless that was printed, and KeyboardInterrupt once the
    engine has ended.
    """
    executable = str(Path(sys.executable).with_name("longhaul"))
    words = [executable, command, "--project", str(path), "--env", env, *arguments]
    lines: list[str] = []
    interrupted: KeyboardInterrupt | None = None
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=path
    ) as process:
        output = iter(process.stdout or ())
        while True:
            try:
                line = next(output, None)
            except KeyboardInterrupt as error:
                interrupted = error
                _pass_on(error, process)
                continue
            if line is None:
                break
            lines.append(line.rstrip("\n"))
            step.write(lines[-1])
            if shown:
                step.pass_on(lines[-1])
    if interrupted:
        raise interrupted
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0:
        ended = f"longhaul {command} ended with {process.returncode}"
        tail = "\n  ".join(line for line in lines[-25:] if line.strip())
        raise StepFailedError(f"{ended}; see above" if shown else f"{ended} (all of it: {step.log}):\n  {tail}")
    return "\n".join(lines)


def _pass_on(interrupt: KeyboardInterrupt, process: subprocess.Popen[str]) -> None:
    """Pass an interrupt on to the engine, unless the engine already got it. Ctrl-C in the terminal also reaches the
    engine, and a second interrupt would abort the engine. A signal to this process alone does not reach the engine."""
    if isinstance(interrupt, TerminatedError):
        process.send_signal(signal.SIGINT)
