"""Destinations for other programs' output during a phase: the run's log, or this terminal."""

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
"""Prefix of this program's own lines in a log."""


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Output streams of a program."""

    stdout: IO[bytes] | int | None
    stderr: IO[bytes] | int | None
    copiers: tuple[_Copier, ...] = ()

    def copy(self) -> None:
        """Copy the program's output since the last call."""
        for copier in self.copiers:
            copier.copy()


@dataclass(frozen=True, kw_only=True)
class Output:
    """Destination for the programs of one phase."""

    log: Path | None
    """The run's log; None without one."""
    terminal: bool = False
    """True when the programs write on this terminal and not into the log."""
    prefix: str = ""
    """Prefix of each line, when two phases write at the same time."""
    json: bool = False
    """True when stdout is reserved for JSON."""

    @contextmanager
    def streams(self, *, answers: bool) -> Iterator[Streams]:
        """Yield the streams for one program. ``answers`` means that this program writes the JSON to stdout, if any is
        wanted."""
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
        """Return the present size of the log, for a later :meth:`tail`; 0 when the log was removed."""
        with suppress(FileNotFoundError):
            return self.log.stat().st_size if self.log is not None else 0
        return 0

    def tail(self, since: int) -> str:
        """Return the last lines that the phase's programs wrote since the log had the size ``since``; empty when they
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
        """Write lines of this program into the log. A full disk is not an error."""
        if self.log is not None:
            with suppress(OSError), _appended(self.log) as file:
                file.write("".join(f"{OWN}{line}\n" for line in text.splitlines()).encode())

    def tell(self, text: str) -> None:
        """Write lines of this program into the log and on the terminal. A terminal that hung up is not an error."""
        self.note(text)
        with suppress(OSError):
            say(text)


def _appended(log: Path) -> IO[bytes]:
    """Open a log for appending, readable only by its owner; another run may have removed it. The file has no buffer:
    after the disk was full, a buffer would be written again at closing."""
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0)


@dataclass
class _Copier:
    """Copies a program's output line by line, each with a prefix. It uses no thread: the kernel would signal the
    parent's death once for each thread, and the engine takes a second signal as a request to stop at once."""

    prefix: str
    target: IO[bytes]
    end: int = field(init=False)
    """The program's end of the pipe."""
    rest: bytes = b""
    """Beginning of an incomplete line."""

    def __post_init__(self) -> None:
        self._source, self.end = os.pipe()
        os.set_blocking(self._source, False)

    def copy(self) -> None:
        *lines, self.rest = (self.rest + self._read()).split(b"\n")
        self._write(lines)

    def close(self) -> None:
        """Copy the rest, as far as it can be written. A process that the program left behind may keep the pipe open; it
        is not waited for."""
        try:
            with suppress(OSError):
                self.copy()
                self._write([self.rest] if self.rest else [])
        finally:
            os.close(self._source)
            os.close(self.end)

    def _write(self, lines: Sequence[bytes]) -> None:
        # Without the target's own buffer: a failed write is not repeated when this process ends.
        left = b"".join(self.prefix.encode() + line + b"\n" for line in lines)
        while left:
            left = left[os.write(self.target.fileno(), left) :]

    def _read(self) -> bytes:
        pieces: list[bytes] = []
        with suppress(BlockingIOError):
            while piece := os.read(self._source, 1 << 16):
                pieces.append(piece)
        return b"".join(pieces)
