"""Running other commands of Longhaul as steps: each as a process of its own, its output in a log, within a limit."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from longhaul.acceptance.check import NotSoError
from longhaul.acceptance.limit import Limit
from longhaul.context import Context
from longhaul.engine.run import start
from longhaul.exits import MEANINGS, Exit

TAIL = 12
"""Lines of the log that are shown of a step that failed."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
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
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log, tempfile.TemporaryFile() as stdout:
            log.write(f"\n$ longhaul {' '.join((verb, *words))}\n".encode())
            log.flush()
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
                late = _awaited(child, limit)
            finally:
                text = _read(stdout)
                log.write(text)
        return Done(code=child.returncode, stdout=text.decode(errors="replace"), late=late)

    def tail(self) -> str:
        """The last lines of the log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(line for line in lines[-TAIL:] if line.strip())


def must(commands: Runs, verb: str, *words: str, limit: Limit, fine: Sequence[int] = (Exit.OK,)) -> Done:
    """Run it; ``NotSoError`` with what the exit code means for any but those that are ``fine``."""
    done = commands.run(verb, *words, limit=limit)
    if done.code not in fine or done.late:
        meaning = MEANINGS[Exit(done.code)] if done.code in set(Exit) else "it was killed"
        late = "; its time was over (--most-minutes)" if done.late else ""
        raise NotSoError(f"`longhaul {verb}` ended with {done.code}: {meaning}{late}")
    return done


def _awaited(child: subprocess.Popen[bytes], limit: Limit) -> bool:
    """Whether it was late."""
    try:
        child.wait(limit.left())
    except subprocess.TimeoutExpired:
        _end(child)
        return True
    except KeyboardInterrupt:
        _end(child)
        raise
    return False


def _end(child: subprocess.Popen[Any]) -> None:
    """Ask it to end, wait for that, and pass on any further interrupt."""
    child.send_signal(signal.SIGINT)
    while child.poll() is None:
        try:
            child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
