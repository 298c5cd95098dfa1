"""Destinations of what other programs print during a phase: the run's log, or this terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from longhaul.terminal.say import say

TAIL = 12
"""Number of lines that are quoted from the end of a program's output."""
OWN = "longhaul: "
"""Beginning of this program's own lines in a log."""


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Streams for a program."""

    stdout: IO[bytes] | int | None
    stderr: IO[bytes] | int | None
    copiers: tuple[_Copier, ...] = ()

    def copy(self) -> None:
        """Copy what the program has written to its own streams since the last time."""
        for copier in self.copiers:
            copier.copy()


@dataclass(frozen=True, kw_only=True)
class Output:
    """Destination of one phase's programs."""

    log: Path | None
    """The run's log, if it has one."""
    terminal: bool = False
    """True when they write on this terminal and not into the log."""
    prefix: str = ""
    """Beginning of each line, where two phases write at the same time."""
    json: bool = False
    """True when stdout is for what programs read."""

    @contextmanager
    def streams(self, *, answers: bool) -> Iterator[Streams]:
        """Yield the streams for one program. ``answers``: its stdout is what programs read, if anything is."""
        with ExitStack() as stack:
            stdout: IO[bytes] = sys.stderr.buffer if self.json else sys.stdout.buffer
            stderr: IO[bytes] = sys.stderr.buffer
            if self.log is not None and not self.terminal:
                stdout = stderr = stack.enter_context(_appended(self.log))
            copiers = tuple(_Copier(self.prefix, target) for target in (stdout, stderr)) if self.prefix else ()
            for copier in copiers:
                stack.callback(copier.close)
            ends: tuple[IO[bytes] | int, ...] = tuple(copier.end for copier in copiers) or (stdout, stderr)
            yield Streams(stdout=None if answers and self.json else ends[0], stderr=ends[1], copiers=copiers)

    def size(self) -> int:
        """Return the size of the log, to quote later what was written after now; 0 when it was removed."""
        with suppress(FileNotFoundError):
            return self.log.stat().st_size if self.log is not None else 0
        return 0

    def tail(self, since: int) -> str:
        """Return the last lines that the phase's programs wrote after the log had the size ``since``; empty when they
        write on the terminal."""
        if self.log is None or self.terminal or not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(since)
            lines = file.read().decode(errors="replace").splitlines()
        notes_left_out = (line for line in lines if not line.startswith(OWN))
        phase_lines = (line.removeprefix(self.prefix) for line in notes_left_out if line.startswith(self.prefix))
        return "\n".join([line for line in phase_lines if line.strip()][-TAIL:])

    def note(self, text: str) -> None:
        """Write lines of this program's own into the log. A full disk is no reason to fail."""
        if self.log is not None:
            with suppress(OSError), _appended(self.log) as file:
                file.write("".join(f"{OWN}{line}\n" for line in text.splitlines()).encode())

    def tell(self, text: str) -> None:
        """Write lines of this program's own into the log and on the terminal. A terminal that hung up is no reason to
        fail."""
        self.note(text)
        with suppress(OSError):
            say(text)


def _appended(log: Path) -> IO[bytes]:
    """Open a log to write at its end, for its owner alone: another run may have removed it. Without a buffer, which
    would be written once more when the file is closed, after the disk was full."""
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0)


@dataclass
class _Copier:
    """Copies a program's output line by line, each with a prefix. No thread does it: the kernel would tell a program of
    its parent's death once for each thread, and the engine takes a second signal for the wish to stop at once."""

    prefix: str
    target: IO[bytes]
    end: int = field(init=False)
    """The program's end of the pipe."""
    rest: bytes = b""
    """Beginning of a line that is not whole yet."""

    def __post_init__(self) -> None:
        self._source, self.end = os.pipe()
        os.set_blocking(self._source, False)

    def copy(self) -> None:
        *lines, self.rest = (self.rest + self._read()).split(b"\n")
        self._write(lines)

    def close(self) -> None:
        """Copy what is left, as far as it can be written. A process that the program left behind may hold its end open;
        it is not waited for."""
        try:
            with suppress(OSError):
                self.copy()
                self._write([self.rest] if self.rest else [])
        finally:
            os.close(self._source)
            os.close(self.end)

    def _write(self, lines: Sequence[bytes]) -> None:
        # Without the target's own buffer: what cannot be written is not tried again at this process's end.
        left = b"".join(self.prefix.encode() + line + b"\n" for line in lines)
        while left:
            left = left[os.write(self.target.fileno(), left) :]

    def _read(self) -> bytes:
        pieces: list[bytes] = []
        with suppress(BlockingIOError):
            while piece := os.read(self._source, 1 << 16):
                pieces.append(piece)
        return b"".join(pieces)
