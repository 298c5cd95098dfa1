"""Running other commands of Longhaul as steps: each as a process of its own, its output in a log, within a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from longhaul.acceptance.check import NotSoError
from longhaul.acceptance.limit import Limit
from longhaul.acceptance.waiting import TELL_S
from longhaul.context import Context
from longhaul.engine.run import start
from longhaul.exits import MEANINGS, Exit, meanings

TAIL = 12
"""Lines of the log that are shown of a step that failed."""
LAST = 4096
"""Bytes at the log's end in which its last line is looked for; the rest of a longer line is left out."""
SHOWN = 160
"""Characters of a line that are shown of a step that is under way."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    said: str = ""
    """The last line that it said for people."""
    late: bool = False
    """Whether it was asked to end because its time was over."""


class Runs(Protocol):
    """What runs the other commands."""

    def run(self, verb: str, *words: str, limit: Limit) -> Done:
        """``longhaul VERB WORDS`` for the environment."""

    def tail(self) -> str:
        """The last lines of what the commands said."""


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Runs commands for one environment."""

    where: Context
    log: Path
    environ: Mapping[str, str]

    def run(self, verb: str, *words: str, limit: Limit) -> Done:
        """``longhaul VERB WORDS`` for the environment, its output also in the log.

        Once its time is over, or when somebody interrupts, it is asked to end as by Ctrl-C and waited for, since an
        engine that is broken off leaves behind what it was making; the second interrupt goes to it as well. A command
        whose parent was killed is asked to end, too.
        """
        project = str(self.where.project.root)
        argv = [sys.executable, "-m", "longhaul", verb, "--env", self.where.env, "--project", project, *words]
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log, tempfile.TemporaryFile() as stdout:
            log.write(f"\n$ longhaul {' '.join((verb, *words))}\n".encode())
            log.flush()
            begun = log.tell()
            # In a session of its own: the terminal's Ctrl-C is for this process, which passes it on.
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
                said, text = self._last_line(begun), _read(stdout)
                log.write(text)
        return Done(code=child.returncode, stdout=text.decode(errors="replace"), said=said, late=late)

    def tail(self) -> str:
        """The last lines of the log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(line for line in lines[-TAIL:] if line.strip())

    def _last_line(self, since: int) -> str:
        """The last line of the log with anything in it, from byte ``since`` on."""
        with self.log.open("rb") as log:
            log.seek(max(since, log.seek(0, os.SEEK_END) - LAST))
            lines = log.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "").removeprefix("longhaul: ")


def must(commands: Runs, verb: str, *words: str, limit: Limit, fine: Sequence[int] = (Exit.OK,)) -> Done:
    """Run it; ``NotSoError`` with what the exit code means for any but those that are ``fine``."""
    done = commands.run(verb, *words, limit=limit)
    require(done, verb, fine=fine)
    return done


def require(done: Done, verb: str, *, fine: Sequence[int] = (Exit.OK,)) -> None:
    """``NotSoError`` with what the exit code of a command means for any but those that are ``fine``."""
    if done.code not in fine or done.late:
        said = {**MEANINGS, **meanings(verb)}
        meaning = said[Exit(done.code)] if done.code in set(Exit) else "it was killed"
        late = "; its time was over (--most-time)" if done.late else ""
        raise NotSoError(f"`longhaul {verb}` ended with {done.code}: {meaning}{late}")


def _awaited(child: subprocess.Popen[bytes], verb: str, limit: Limit, last_line: Callable[[], str]) -> bool:
    """Whether it was late."""
    waiting = limit.waiting(f"`longhaul {verb}`")
    try:
        while not _has_ended(child, min(TELL_S, limit.left())):
            left = limit.left()
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


def _end(child: subprocess.Popen[Any], verb: str, limit: Limit) -> None:
    """Ask it to end, wait for that, and pass on any further interrupt."""
    child.send_signal(signal.SIGINT)
    words = [f"`longhaul {verb}` was asked to end, and is waited for: it finishes what is under way"]
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
