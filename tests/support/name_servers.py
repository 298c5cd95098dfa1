"""Name servers that answer every question for an address with one address, and a client."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Self

ADDRESS, NOBODY, FAILURE = 1, 3, 2
"""Type of a question for an IPv4 address (A); codes of answers: the name does not exist, and the server failed."""
TTL_S = 5


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a question."""

    code: int
    address: IPv4Address | None = None
    ttl_s: int = 0


class NameServer:
    """A name server on a port of loopback, over UDP and TCP, until :meth:`stop`."""

    def __init__(self, address: str) -> None:
        self.questions: list[str] = []
        self._address = IPv4Address(address)
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._tcp.getsockname()[1])
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._sockets = [self._tcp, self._udp]
        for serve in (self._serve_tcp, self._serve_udp):
            threading.Thread(target=serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close every connection and refuse further ones."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve_udp(self) -> None:
        with suppress(OSError):
            while True:
                message, client = self._udp.recvfrom(4096)
                if message:
                    self._udp.sendto(self._answer(message), client)

    def _serve_tcp(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._tcp.accept()
                self._sockets.append(connection)
                threading.Thread(target=self._serve_connection, args=(connection,), daemon=True).start()

    def _serve_connection(self, connection: socket.socket) -> None:
        with suppress(OSError), connection.makefile("rb") as stream:
            while head := stream.read(2):
                answer = self._answer(stream.read(struct.unpack(">H", head)[0]))
                connection.sendall(struct.pack(">H", len(answer)) + answer)

    def _answer(self, message: bytes) -> bytes:
        end = _question_end(message)
        kind = struct.unpack(">H", message[end - 4 : end - 2])[0]
        self.questions.append(_name(message))
        records, code = (1, 0) if kind == ADDRESS else (0, NOBODY)
        head = message[:2] + struct.pack(">5H", 0x8180 | code, 1, records, 0, 0)
        record = struct.pack(">HHHIH", 0xC00C, ADDRESS, 1, TTL_S, 4) + self._address.packed
        return head + message[12:end] + record * records


def ask(port: int, name: str, *, timeout_s: float = 10) -> Answer:
    """Ask for a name's address; raise ``OSError`` if nobody answers."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(timeout_s)
        asking.connect(("127.0.0.1", port))
        asking.send(struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">2H", ADDRESS, 1))
        message = asking.recv(4096)
    code, records = message[3] & 15, struct.unpack(">H", message[6:8])[0]
    if code or not records:
        return Answer(code=code)
    ttl_s = struct.unpack(">I", message[-10:-6])[0]
    return Answer(code=code, address=IPv4Address(message[-4:]), ttl_s=ttl_s)


def _question_end(message: bytes) -> int:
    place = 12
    while message[place]:
        place += message[place] + 1
    return place + 5


def _name(message: bytes) -> str:
    place, parts = 12, []
    while message[place]:
        parts.append(message[place + 1 : place + 1 + message[place]].decode())
        place += message[place] + 1
    return ".".join(parts)
