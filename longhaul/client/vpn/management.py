"""OpenVPN's management interface (doc/management-notes.txt of OpenVPN 2.6). OpenVPN connects to this program's socket,
in a folder of the person, and ends with the connection (``--management-client``): no OpenVPN is left behind as root."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.terminal.exits import CommandError

POLL_S = 0.5
"""Seconds between checks whether OpenVPN still runs, before it has connected."""

SEND_S = 30.0
"""Time limit for OpenVPN to accept a command, seconds."""


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
        """Send a command. Raise ``EndedError`` when OpenVPN has hung up."""
        self._connection.settimeout(SEND_S)
        try:
            self._connection.sendall(f"{line}\n".encode())
        except OSError:
            raise EndedError from None

    def read(self, wait_s: float) -> str | None:
        """Return the next line; None when none came within ``wait_s`` seconds. Raise ``EndedError`` at the end of the
        connection."""
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
    """Listen at a path during the block. Raise ``CommandError`` when a socket cannot have this path, which may be 103
    bytes long on macOS, 107 on Linux (``sun_path`` of unix(4) and unix(7))."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(str(path))
        except OSError as error:
            # Python itself refuses a path that is too long, without an errno.
            raise CommandError(f"cannot listen at {path}: {error}; set TMPDIR to a short folder, /tmp say") from error
        listener.listen(1)
        listener.settimeout(POLL_S)
        yield listener


def accept(listener: socket.socket, *, runs: Callable[[], bool]) -> Management:
    """Wait for OpenVPN's connection and return it; a person may have to type a password first. Raise ``EndedError``
    when OpenVPN ends before it connects."""
    while True:
        try:
            return Management(listener.accept()[0])
        except TimeoutError:
            if not runs():
                raise EndedError from None
