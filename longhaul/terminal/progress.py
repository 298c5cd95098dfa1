"""Progress lines of a running phase: changes, awaited operations with their durations, and errors. Each begins with the
seconds since the command began, and is the same on a terminal and in the log of a CI job."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from longhaul.terminal.output import Output, Streams

TELL_S = 30.0
"""Shortest time between two lines about awaited operations, seconds."""
SLOWING = 0.25
"""Shortest time between two lines about awaited operations, as a share of the program's running time: an hour has about
twenty lines."""
NAMED = 3
"""Number of awaited operations that a line names."""


class ProgressAccount(Protocol):
    """Summary of a program's work, from its events."""

    def take(self, event: Mapping[str, Any], /) -> Iterable[str]:
        """Add an event; return the lines to show for it."""

    def state(self) -> str:
        """Return in one line what is done and what is under way."""


@dataclass(kw_only=True)
class Progress:
    """Shows the progress of one phase."""

    title: str
    output: Output
    began: float
    """Start of the command, by ``time.monotonic``."""
    shown: set[str] = field(default_factory=set)
    """Warnings and errors that were shown: each is shown once, whichever program repeats it."""
    interrupted: bool = False
    """True when a signal has asked the phase to end."""

    def say(self, line: str) -> None:
        """Show a line and log it; further lines in it are indented."""
        indented = line.replace("\n", "\n    ")
        self.output.tell(f"[{time.monotonic() - self.began:4.0f} s] {self.title}: {indented}")

    def interrupt(self) -> None:
        """Report a signal, which has been passed on."""
        self.interrupted = True
        self.say("interrupted; running operations are finished first, and another interrupt stops them at once")

    @contextmanager
    def following(self, account: ProgressAccount, events: Path, *, answers: bool = False) -> Iterator[Followed]:
        """Follow the events that a program writes to a file, during the block. For ``answers`` see
        :meth:`Output.streams`."""
        with self.output.streams(answers=answers) as streams:
            followed = Followed(self, account, _EventFile(events), streams)
            try:
                yield followed
            finally:
                followed.stop()


class Followed:
    """A program whose events are followed."""

    def __init__(self, progress: Progress, account: ProgressAccount, file: _EventFile, streams: Streams) -> None:
        self.streams = streams
        self._progress = progress
        self._account = account
        self._file = file
        self._begun = self._last_line_at = time.monotonic()

    def interrupt(self) -> None:
        """Report a signal."""
        self._progress.interrupt()

    def look(self) -> None:
        """Show the events since the last look and, at intervals, the awaited operations."""
        self._show(line for event in self._file.new() for line in self._taken(event))
        now = time.monotonic()
        if now - self._last_line_at >= max(TELL_S, SLOWING * (now - self._begun)):
            self._last_line_at = now
            self._show([self._account.state()])

    def stop(self) -> None:
        """Show the remaining events, after the program's end."""
        self._last_line_at = float("inf")
        self.look()

    def _taken(self, event: bytes) -> Iterator[str]:
        # Another version of the program may log in another format. That must not end its run.
        with suppress(AttributeError, LookupError, TypeError, ValueError):
            yield from self._account.take(json.loads(event))

    def _show(self, lines: Iterable[str]) -> None:
        with suppress(OSError):
            self.streams.copy()
        for line in lines:
            # On the terminal, the program shows all of it by itself.
            if not self._progress.output.terminal:
                self._progress.say(line)


@dataclass
class _EventFile:
    """A file of JSON lines that another program writes, and may truncate: the engine does after its preview."""

    path: Path
    offset: int = 0
    last: bytes = b""
    """Last line that was read. When it is no longer before the offset, the file was truncated."""

    def new(self) -> list[bytes]:
        """Return the lines that were written since the last call."""
        lines = self._read()
        if lines is None:
            self.offset, self.last = 0, b""
            lines = self._read()
        return lines or []

    def _read(self) -> list[bytes] | None:
        """Return whole lines from the offset on; None when the file was truncated."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset - len(self.last))
                content = file.read()
        except FileNotFoundError:
            return []
        if not content.startswith(self.last):
            return None
        lines = content[len(self.last) : content.rfind(b"\n") + 1].splitlines(keepends=True)
        self.offset += sum(map(len, lines))
        self.last = lines[-1] if lines else self.last
        return lines


def awaited(since: Mapping[str, float]) -> str:
    """Return the operations that are under way, the longest first. ``since`` maps each name to its beginning by
    ``time.monotonic``."""
    now = time.monotonic()
    longest = sorted(since.items(), key=lambda entry: entry[1])
    named = ", ".join(f"{name} for {now - begun:.0f} s" for name, begun in longest[:NAMED])
    more = len(longest) - NAMED
    return f"awaiting {named}{f' and {more} more' if more > 0 else ''}"


def counts(numbers: Mapping[str, int]) -> str:
    """Return text such as ``3 created, 12 unchanged``, without zeros."""
    return ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number)
