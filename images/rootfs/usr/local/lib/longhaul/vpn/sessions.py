"""Sessions of laptops, through OpenVPN's management socket (OpenVPN 2.6, doc/management-notes.txt)."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from contract.paths import VPN_MANAGEMENT

SOCKET = Path(VPN_MANAGEMENT)
TIMEOUT_S = 10.0
GONE_S = 15.0
RETRY_S = 0.2
LAST = 1 << 20
"""Longest line of an answer in bytes."""

_WITH_MARK = re.compile(r"_[0-9a-f]{16}$")
"""Suffix of a laptop's name in OpenVPN: the laptop's mark (vpn/certificate.py), which follows the person's name."""


@dataclass(frozen=True, kw_only=True)
class LaptopSession:
    """A laptop's session."""

    person: str
    client: str
    """OpenVPN's number of the session."""


def sessions(path: Path = SOCKET) -> tuple[LaptopSession, ...]:
    """Return the open sessions. Raise ``OSError`` if OpenVPN does not answer."""
    with _Management(path) as asked:
        return tuple(_listed(asked.lines("status 3")))


def end_sessions(people: Collection[str], path: Path = SOCKET) -> int:
    """End the sessions of ``people``, and return their number once they have ended. Raise ``OSError`` if OpenVPN does
    not answer, or keeps such a session. A laptop that receives HALT does not connect again. After five seconds, OpenVPN
    itself ends the session (src/openvpn/push.c, ``send_restart``)."""
    deadline = time.monotonic() + GONE_S
    with _Management(path) as asked:
        ending = [session for session in _listed(asked.lines("status 3")) if session.person in people]
        for session in ending:
            # By number: `kill` would read a name with a colon as an address (src/openvpn/manage.c, ``man_kill``).
            asked.line(f"client-kill {session.client} HALT")
        while any(session in ending for session in _listed(asked.lines("status 3"))):
            if time.monotonic() > deadline:
                raise OSError("OpenVPN keeps a session that was to end")
            time.sleep(RETRY_S)
    return len(ending)


def _listed(lines: list[str]) -> Iterator[LaptopSession]:
    """Yield the sessions in an answer to ``status 3``. The answer's header names the columns. A session without a
    certificate yet has no name."""
    columns: list[str] = []
    for line in lines:
        words = line.split("\t")
        if words[:2] == ["HEADER", "CLIENT_LIST"]:
            columns = words[2:]
        elif words[0] == "CLIENT_LIST":
            fields = dict(zip(columns, words[1:], strict=False))
            name = fields.get("Common Name", "")
            yield LaptopSession(person=_WITH_MARK.sub("", name), client=fields.get("Client ID", ""))


class _Management:
    """A connection to the management socket. OpenVPN serves one connection at a time, and further connections wait."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Management:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(self._path))
        except OSError:
            self._socket.close()
            raise
        self._input = self._socket.makefile("r", encoding="utf-8", errors="replace", newline="\n")
        return self

    def __exit__(self, *_: object) -> None:
        self._input.close()
        self._socket.close()

    def lines(self, command: str) -> list[str]:
        """Return the lines of an answer that ends with END."""
        self._send(command)
        answer: list[str] = []
        while (line := self._read()) != "END":
            answer.append(line)
        return answer

    def line(self, command: str) -> str:
        """Return an answer of one line."""
        self._send(command)
        return self._read()

    def _send(self, command: str) -> None:
        self._socket.sendall(f"{command}\n".encode())

    def _read(self) -> str:
        """Return the next line of an answer, without notifications."""
        while True:
            line = self._input.readline(LAST)
            if not line.endswith("\n"):
                raise OSError("OpenVPN ended its answer early")
            if not line.startswith(">"):
                return line.rstrip("\r\n")
