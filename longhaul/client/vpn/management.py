"""OpenVPN's management interface (doc/management-notes.txt of OpenVPN 2.6). OpenVPN connects to this program, in a
folder of the person's own, and ends when the connection does (``--management-client``): none is left behind as root."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.terminal.exits import CommandError

POLL_S = 0.5
"""Seconds between looks at whether OpenVPN still runs, before it has connected."""

SEND_S = 30.0
"""Longest time in seconds that OpenVPN has to take a command."""


class EndedError(Exception):
    """OpenVPN has ended."""


class Management:
    """A connection to a running OpenVPN."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._rest = connection, b""

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def send(self, line: str) -> None:
        """Send a command; ``EndedError`` when there is nobody."""
        self._connection.settimeout(SEND_S)
        try:
            self._connection.sendall(f"{line}\n".encode())
        except OSError:
            raise EndedError from None

    def read(self, wait_s: float) -> str | None:
        """Return the next line; None when none came in time, ``EndedError`` when no more will."""
        while b"\n" not in self._rest:
            self._connection.settimeout(wait_s)
            try:
                more = self._connection.recv(65536)
            except TimeoutError:
                return None
            except ConnectionError:
                more = b""
            if not more:
                raise EndedError
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Listen at a path during the block; ``CommandError`` for one that a socket cannot have: 103 bytes on macOS, 107 on
    Linux (``sun_path`` of unix(4) and unix(7))."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(str(path))
        except OSError as error:
            # A path that is too long comes without an errno, before the system is asked.
            raise CommandError(f"cannot listen at {path}: {error}; set TMPDIR to a short folder, /tmp say") from error
        listener.listen(1)
        listener.settimeout(POLL_S)
        yield listener


def accept(listener: socket.socket, *, runs: Callable[[], bool]) -> Management:
    """Return OpenVPN's connection, which may wait for a person who types a password; ``EndedError`` when it has ended
    before."""
    while True:
        try:
            return Management(listener.accept()[0])
        except TimeoutError:
            if not runs():
                raise EndedError from None
