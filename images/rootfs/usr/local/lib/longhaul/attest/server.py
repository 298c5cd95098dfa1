"""HTTPS for machines: few at a time, little from each, and not for long."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from attest.desk import Answer, Desk
from attest.protocol import CHALLENGE, HEALTH, JOIN, LARGEST

log = logging.getLogger(__name__)

CONNECTIONS = 128
"""At once; one more is closed unheard. A join takes a second or two of one, and ten are let in a second."""

CONNECTIONS_OF_ONE = 8
"""Of one address at once: a machine needs one, and a pod, which can prove nothing, is not to shut out the others."""

PROBE = "168.63.129.16"
"""Whom the load balancer's probes come from, and nobody else (learn.microsoft.com, "What is IP address
168.63.129.16?"): it is always heard, or a crowd would make the balancer take this server for dead."""

HEAD = 8 * 1024
"""Bytes of a request's first line and headers; http.server itself would keep a hundred headers of 64 KiB each."""

SILENCE_S = 10.0
"""Longest time without a byte."""

LIFE_S = 90.0
"""Longest life of a connection, whatever it says: a proof, and a minute of asking what became of it."""


@dataclass(frozen=True, kw_only=True)
class _Guest:
    """Whose a connection is, and since when it is open."""

    address: str
    since: float


class _Lines(io.BufferedReader):
    """What a connection says; of lines no more than a request's head may have."""

    left = HEAD

    def readline(self, size: int | None = -1) -> bytes:
        """As a file's; ``ConnectionError`` when the head is too long."""
        most = self.left + 1
        line = super().readline(most if size is None or size < 0 else min(size, most))
        self.left -= len(line)
        if self.left < 0:
            raise ConnectionError(f"a request's head has more than {HEAD} bytes")
        return line


class Server(ThreadingHTTPServer):
    """Answers for a desk. The certificate is read again whenever its file has changed, since it is renewed in place."""

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        address: tuple[str, int],
        desk: Desk,
        *,
        certificate: Path,
        well: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``well``: whether a machine that asks here could be helped; what the load balancer is told."""
        self.desk, self.well, self._certificate, self._clock = desk, well, certificate, clock
        self._lock = threading.Lock()
        self._open: dict[socket.socket, _Guest] = {}
        self._context: ssl.SSLContext | None = None
        self._version: tuple[int, ...] = ()
        super().__init__(address, Handler)

    def context(self) -> ssl.SSLContext:
        """``OSError`` when there is no certificate."""
        # Before it is read: what changes meanwhile is read again with the next one.
        now = self._certificate.stat()
        version = (now.st_mtime_ns, now.st_ino, now.st_size)
        if self._context is None or version != self._version:
            found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            found.minimum_version = ssl.TLSVersion.TLSv1_2
            found.load_cert_chain(self._certificate)
            self._context, self._version = found, version
        return self._context

    def get_request(self) -> tuple[ssl.SSLSocket, Any]:
        """A connection whose TLS is still to come, in its own thread: who does not speak it holds up nobody."""
        plain, address = super().get_request()
        try:
            found = self.context().wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        except OSError:
            log.exception("%s cannot be used", self._certificate)
            plain.close()
            raise
        return found, address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more, and for one more of this address."""
        guest = _Guest(address=str(client_address[0]), since=self._clock())
        with self._lock:
            same = sum(1 for each in self._open.values() if each.address == guest.address)
            full = len(self._open) >= CONNECTIONS or same >= CONNECTIONS_OF_ONE
            if full and guest.address != PROBE:
                return False
            self._open[request] = guest
        return True

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection, by whomever."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Between connections, twice a second: end those that have lived too long."""
        now = self._clock()
        with self._lock:
            old = [each for each, guest in self._open.items() if now - guest.since > LIFE_S]
        for each in old:
            # Its own thread sees the end of it, and closes it.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A connection that was broken off is no news; a fault of ours is."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("%s: not answered", client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection. HTTP/1.1: several requests on it."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    server_version, sys_version = "longhaul-join", ""
    server: Server
    rfile: _Lines

    def setup(self) -> None:
        """TLS first."""
        self.request.settimeout(SILENCE_S)
        self.request.do_handshake()
        super().setup()
        self.rfile = _Lines(self.rfile.detach())

    def handle_one_request(self) -> None:
        """With a head of its own."""
        self.rfile.left = HEAD
        super().handle_one_request()

    def do_GET(self) -> None:
        """A challenge, or what became of a request."""
        if self.path == HEALTH:
            self._say(Answer(status=200 if self.server.well() else 503, body={}))
        elif self.path.startswith(CHALLENGE):
            self._say(self.server.desk.challenge(self.path.removeprefix(CHALLENGE), sender=self._sender))
        elif self.path.startswith(f"{JOIN}/"):
            self._say(self.server.desk.look(self.path.removeprefix(f"{JOIN}/"), sender=self._sender))
        else:
            self._say(Answer(status=404, body={"reason": "Unknown", "message": "there is nothing here"}))

    def do_POST(self) -> None:
        """A proof."""
        length = _length(self.headers.get("Content-Length", ""))
        if self.path != JOIN or not 0 <= length <= LARGEST:
            # What comes next on the connection is not known any more.
            self.close_connection = True
            status = 413 if length > LARGEST else 400
            self._say(Answer(status=status, body={"reason": "Malformed", "message": f"post {LARGEST} bytes at most"}))
            return
        posted = self.rfile.read(length)
        if len(posted) == length:
            self._say(self.server.desk.join(posted, sender=self._sender))

    @property
    def _sender(self) -> str:
        return str(self.client_address[0])

    def _say(self, answer: Answer) -> None:
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the desk says what matters."""


def _length(text: str) -> int:
    """A Content-Length; -1 when it is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1
