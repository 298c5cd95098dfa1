"""Shows the progress of a long command: one line for each step with its elapsed time; a separate log has the
details."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

_TICK_S = 1.0
_CLEAR_LINE = "\r\x1b[K"


@dataclass(frozen=True, kw_only=True)
class FinishedStep:
    """A finished step."""

    title: str
    seconds: float
    failed: bool
    note: str


class LabStep:
    """The current step: its log, and the means to report progress."""

    def __init__(self, *, title: str, log: Path, screen: _Screen) -> None:
        self.title = title
        self.log = log
        self.note = ""
        self._screen = screen
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._began

    def say(self, line: str) -> None:
        """Show a line of progress below the step, and write it to the log."""
        self.write(line)
        self.show(line)

    def show(self, line: str) -> None:
        """Show a line of progress without writing it to the log."""
        self._screen.show(f"[{self.seconds:6.1f} s]   {line}")

    def pass_on(self, line: str) -> None:
        """Show a line of a command that prints times itself."""
        self._screen.show(f"  {line}")

    def write(self, text: str) -> None:
        """Write ``text`` to the log only."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as file:
            file.write(text.rstrip("\n") + "\n")


@dataclass
class _Screen:
    """Output of all steps. On a terminal its last line shows the running step and its time."""

    out: TextIO
    live: bool
    lock: threading.Lock = field(default_factory=threading.Lock)

    def show(self, line: str) -> None:
        with self.lock:
            self.out.write(f"{_CLEAR_LINE if self.live else ''}{line}\n")
            self.out.flush()

    def tick(self, line: str) -> None:
        with self.lock:
            self.out.write(f"{_CLEAR_LINE}{line}")
            self.out.flush()


class LabSteps:
    """Runs steps one after the other, and records how long each took.

    ``log_dir`` gets one file for each step, named after ``prefix`` and the step; an older file is replaced. Output is
    plain when ``out`` is not a terminal.
    """

    def __init__(self, *, log_dir: Path, prefix: str = "", out: TextIO | None = None) -> None:
        self.log_dir = log_dir
        self._prefix = prefix
        self.done: list[FinishedStep] = []
        self._began = time.monotonic()
        stream = out or sys.stdout
        self._screen = _Screen(out=stream, live=stream.isatty())

    @contextmanager
    def step(self, title: str) -> Iterator[LabStep]:
        """Run one step. The step's line is printed when the step is over. An exception marks the step as failed, and is
        raised again."""
        log = self.log_dir / f"{self._prefix}{_file_name(title)}.log"
        log.unlink(missing_ok=True)
        step = LabStep(title=title, log=log, screen=self._screen)
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(step, over), daemon=True)
        if self._screen.live:
            ticker.start()
        failed = True
        try:
            yield step
            failed = False
        finally:
            over.set()
            if self._screen.live:
                ticker.join()
            seconds = step.seconds
            self.done.append(FinishedStep(title=title, seconds=seconds, failed=failed, note=step.note))
            self._screen.show(
                f"[{seconds:6.1f} s] {title}{': failed' if failed else ''}{f' ({step.note})' if step.note else ''}"
            )

    def table(self) -> str:
        """Return a table of every step's time, and of the total."""
        rows = [(done.title + (" (failed)" if done.failed else ""), done.seconds) for done in self.done]
        rows.append(("in all", time.monotonic() - self._began))
        width = max(len(title) for title, _ in rows)
        return "\n".join(f"{title:<{width}}  {seconds:7.1f} s" for title, seconds in rows)

    def _tick(self, step: LabStep, over: threading.Event) -> None:
        while True:
            self._screen.tick(f"[{step.seconds:6.1f} s] {step.title} …")
            if over.wait(_TICK_S):
                return


def _file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "step"
