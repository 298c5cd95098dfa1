"""Runs other commands of Longhaul as steps: each as its own process, with its output in a log, within a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from longhaul.acceptance.check import NotSoError
from longhaul.acceptance.time_limit import TELL_S, Deadline
from longhaul.engine.execution import start
from longhaul.project.context import Context
from longhaul.terminal.exits import MEANINGS, Exit, meanings

TAIL = 12
"""Number of log lines that are shown of a failed step."""
LAST = 4096
"""Number of bytes at the end of the log that are searched for the last line. A longer line loses its beginning."""
SHOWN = 160
"""Number of characters that are shown of a line of a running step."""


@dataclass(frozen=True, kw_only=True)
class FinishedCommand:
    """Result of a command."""

    code: int
    stdout: str
    last_line: str = ""
    """Last line of its output for people."""
    late: bool = False
    """True when it was asked to end because its time was over."""


class Runs(Protocol):
    """Runs the other commands."""

    def run(self, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
        """Run ``longhaul VERB WORDS`` for the environment."""

    def tail(self) -> str:
        """Return the last lines that the commands wrote."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceCommands:
    """Runs commands for one environment."""

    where: Context
    log: Path
    environ: Mapping[str, str]

    def run(self, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
        """Run ``longhaul VERB WORDS`` for the environment, with its output also in the log.

        When its time is over, or on an interrupt, the command gets the signal of Ctrl-C and is waited for: a killed
        engine would leave behind the resources that it was making. A second interrupt is passed on as well. A command
        whose parent was killed is asked to end, too.
        """
        project = str(self.where.project.root)
        argv = [sys.executable, "-m", "longhaul", verb, "--env", self.where.env, "--project", project, *words]
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log, tempfile.TemporaryFile() as stdout:
            log.write(f"\n$ longhaul {' '.join((verb, *words))}\n".encode())
            log.flush()
            begun = log.tell()
            # It gets its own session: the terminal's Ctrl-C reaches this process only, which passes it on.
            child = start(
                argv,
                cwd=self.where.project.root,
                environ=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=log,
                start_new_session=True,
            )
            try:
                late = _awaited(child, verb, limit, lambda: self._last_line(begun))
            finally:
                last_line, text = self._last_line(begun), _read(stdout)
                log.write(text)
        return FinishedCommand(
            code=child.returncode, stdout=text.decode(errors="replace"), last_line=last_line, late=late
        )

    def tail(self) -> str:
        """Return the last lines of the log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(line for line in lines[-TAIL:] if line.strip())

    def _last_line(self, since: int) -> str:
        """Return the last non-empty line of the log after byte ``since``."""
        with self.log.open("rb") as log:
            log.seek(max(since, log.seek(0, os.SEEK_END) - LAST))
            lines = log.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "").removeprefix("longhaul: ")


def run_or_fail(commands: Runs, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
    """Run a command. Raise ``NotSoError`` with the meaning of its exit code unless the code is 0."""
    done = commands.run(verb, *words, limit=limit)
    require(done, verb)
    return done


def require(done: FinishedCommand, verb: str) -> None:
    """Raise ``NotSoError`` with the meaning of the command's exit code unless it is 0."""
    if done.code != Exit.OK or done.late:
        by_code = {**MEANINGS, **meanings(verb)}
        meaning = by_code[Exit(done.code)] if done.code in set(Exit) else "it was killed"
        late = "; its time was over (--most-time)" if done.late else ""
        raise NotSoError(f"`longhaul {verb}` ended with {done.code}: {meaning}{late}")


def _awaited(child: subprocess.Popen[bytes], verb: str, limit: Deadline, last_line: Callable[[], str]) -> bool:
    """Wait for the command; return whether it was asked to end because its time was over."""
    waiting = limit.waiting(f"`longhaul {verb}`")
    try:
        while not _has_ended(child, min(TELL_S, limit.remaining_s())):
            left = limit.remaining_s()
            if not left:
                _end(child, verb, limit)
                return True
            waiting.note(last_line()[:SHOWN], left_s=left)
    except KeyboardInterrupt:
        _end(child, verb, limit)
        raise
    return False


def _has_ended(child: subprocess.Popen[bytes], within_s: float) -> bool:
    try:
        child.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(child: subprocess.Popen[Any], verb: str, limit: Deadline) -> None:
    """Ask the command to end, wait for it, and pass on any further interrupt."""
    child.send_signal(signal.SIGINT)
    words = [f"`longhaul {verb}` was asked to end and finishes what is under way; waiting for it"]
    while child.poll() is None:
        try:
            if words:
                limit.tell(words.pop())
            child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
