"""Runs the production program, ``longhaul``, as a step of the lab's commands."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab.steps import Step

INTERRUPTED = 130
"""Exit code of a command that was interrupted."""


class TerminatedError(KeyboardInterrupt):
    """Raised when this process alone was asked to end."""


class StepFailedError(Exception):
    """Raised when a command of a step failed; its log says why."""


def longhaul(path: Path, env: str, step: Step, command: str, *arguments: str, shown: Callable[[str], str]) -> str:
    """Run a command of ``longhaul`` on an environment of the project ``path``, and return its output. ``shown`` turns a
    line into the text that is shown as it comes, empty for none; the step's log has all lines.

    Raises :class:`StepFailedError` with the end of the output, and KeyboardInterrupt once the engine has ended.
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
                _pass_on(error, process, step)
                continue
            if line is None:
                break
            lines.append(line.rstrip("\n"))
            step.write(line.strip())
            if told := shown(line.strip()):
                step.show(told)
    if interrupted:
        raise interrupted
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0:
        tail = "\n  ".join(line for line in lines[-25:] if line.strip())
        raise StepFailedError(f"longhaul {command} ended with {process.returncode} (all of it: {step.log}):\n  {tail}")
    return "\n".join(lines)


def _pass_on(interrupt: KeyboardInterrupt, process: subprocess.Popen[str], step: Step) -> None:
    """Pass an interrupt on to the engine, unless it already got it. Ctrl-C reaches the engine from the terminal, and a
    second one would abort it; a signal to this process alone does not reach it."""
    step.say("interrupted: the engine finishes what it is doing")
    if isinstance(interrupt, TerminatedError):
        process.send_signal(signal.SIGINT)
