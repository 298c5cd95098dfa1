"""HTTPS server for machines and laptops, with limits of the number, the data and the duration of connections."""

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
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, Generic, TypeVar

from contract.documents.node_place import POD_PREFIX
from contract.ports import JOIN_HEALTH_PATH
from join_endpoint.join_requests import JoinAnswer, JoinEndpoint
from join_endpoint.protocol import CHALLENGE, JOIN, LARGEST

log = logging.getLogger(__name__)

EndpointT = TypeVar("EndpointT")

CONNECTIONS = 128
"""Largest number of open connections. A further connection is closed unread. A join uses a connection for a second or
two, and ten joins a second are admitted."""

CONNECTIONS_OF_ONE = 8
"""Largest number of open connections from one address. A machine needs one connection, and must not shut out other
machines."""

CONNECTIONS_OF_A_RANGE = 32
"""Largest number of open connections from one range of the size of a node's pod range (:data:`POD_PREFIX`). A
compromised machine can use the addresses of its pods, and must not fill the server. If the sixteen addresses of a range
belong to sixteen machines, each machine may have two connections. In Azure the addresses of a node's pods are single
addresses, which may be in two or three ranges."""

PROBE = "168.63.129.16"
"""Address from which only the load balancer's probes come (learn.microsoft.com, "What is IP address 168.63.129.16?").
The address is exempt from the limits. Otherwise the load balancer would consider a server with many connections
dead."""

HEAD = 8 * 1024
"""Largest size in bytes of a request's first line and headers. http.server itself would accept a hundred headers of 64
KiB each."""

SILENCE_S = 10.0
"""Longest time in seconds without a byte."""

LIFE_S = 90.0
"""Longest life of a connection in seconds, which is enough for a proof and a minute of status queries."""


@dataclass(kw_only=True)
class _Guest:
    """Sender of a connection, and the time at which the connection was opened."""

    address: IPv4Address
    since: float
    has_asked: bool = False
    """True once the connection has sent a complete request."""

    @property
    def range(self) -> IPv4Network:
        """The range, of the size of a node's pod range, that contains the address."""
        return IPv4Network((self.address, POD_PREFIX), strict=False)


class _Lines(io.BufferedReader):
    """Input of a connection, with a limit for the bytes of a request's head."""

    left = HEAD

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line, like a file's ``readline``. Raise ``ConnectionError`` if the request's head is too long."""
        most = self.left + 1
        line = super().readline(most if size is None or size < 0 else min(size, most))
        self.left -= len(line)
        if self.left < 0:
            raise ConnectionError("a request's head is too long")
        return line


class Server(ThreadingHTTPServer, Generic[EndpointT]):
    """HTTPS server of an endpoint. The certificate is renewed in place, so a changed file is read again."""

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        address: tuple[str, int],
        endpoint: EndpointT,
        *,
        certificate: Path,
        healthy: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
        handler: type[HttpConnection] | None = None,
        patience_s: float | None = None,
    ) -> None:
        """``healthy`` returns whether this server can serve machines, which is the answer to the load balancer's probe.
        ``handler`` is the class that handles connections, by default :class:`JoinHandler`. ``patience_s`` is the
        longest time in seconds from the start of a connection to its complete request (:meth:`note_request`). With
        ``patience_s``, a full server ends the oldest connection without a complete request to make room."""
        self._patience_s = patience_s
        self.endpoint, self.healthy, self._certificate, self._clock = endpoint, healthy, certificate, clock
        self._lock = threading.Lock()
        self._open: dict[socket.socket, _Guest] = {}
        self._context: ssl.SSLContext | None = None
        self._version: tuple[int, ...] = ()
        super().__init__(address, handler or JoinHandler)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context with the present certificate. Raise ``OSError`` if the certificate cannot be read."""
        # Noted before the file is read, so that a change during the read is noticed at the next connection.
        now = self._certificate.stat()
        version = (now.st_mtime_ns, now.st_ino, now.st_size)
        if self._context is None or version != self._version:
            tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls_context.minimum_version = ssl.TLSVersion.TLSv1_2
            # For TLS 1.2 only authenticated encryption. All cipher suites of TLS 1.3 have it.
            tls_context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
            tls_context.load_cert_chain(self._certificate)
            self._context, self._version = tls_context, version
        return self._context

    def get_request(self) -> tuple[ssl.SSLSocket, Any]:
        """Return a connection before its TLS handshake. The connection's own thread makes the handshake, so that a
        client that does not speak TLS does not delay others."""
        plain, address = super().get_request()
        try:
            connection = self.context().wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        except OSError:
            log.exception("%s cannot be used", self._certificate)
            plain.close()
            raise
        return connection, address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is room for one more connection in total, from its address and from its range."""
        guest = _Guest(address=IPv4Address(client_address[0]), since=self._clock())
        with self._lock:
            near = [each.address for each in self._open.values() if each.range == guest.range]
            many = len(near) >= CONNECTIONS_OF_A_RANGE or near.count(guest.address) >= CONNECTIONS_OF_ONE
            if str(guest.address) != PROBE and (many or not self._has_room()):
                return False
            self._open[request] = guest
        return True

    def note_request(self, request: socket.socket) -> None:
        """Note that a connection has sent a complete request. The connection then keeps its place until the answer."""
        with self._lock:
            if request in self._open:
                self._open[request].has_asked = True

    def _has_room(self) -> bool:
        """Return whether there is room for a connection, and make room if that is possible. The caller holds the
        lock."""
        if len(self._open) < CONNECTIONS:
            return True
        # In the order in which they were opened.
        silent = next((each for each, guest in self._open.items() if not guest.has_asked), None)
        if self._patience_s is None or silent is None:
            return False
        del self._open[silent]
        _end(silent)
        return True

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that either side has ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that have lived too long. The server calls this method twice a second."""
        now = self._clock()
        with self._lock:
            old = [each for each, guest in self._open.items() if now - guest.since > self._life_s(guest)]
        for each in old:
            _end(each)

    def _life_s(self, guest: _Guest) -> float:
        return LIFE_S if guest.has_asked or self._patience_s is None else self._patience_s

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log failures of this program, but not broken connections."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("%s: not answered", client_address)


def _end(connection: socket.socket) -> None:
    """End a connection. The connection's own thread then closes it."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


class HttpConnection(BaseHTTPRequestHandler):
    """Handler of one connection, which may have several requests (HTTP/1.1)."""

    head = HEAD
    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    server_version, sys_version = "longhaul", ""
    server: Server[Any]
    rfile: _Lines

    def setup(self) -> None:
        """Make the TLS handshake, then prepare the connection."""
        self.request.settimeout(SILENCE_S)
        self.request.do_handshake()
        super().setup()
        self.rfile = _Lines(self.rfile.detach())

    def handle_one_request(self) -> None:
        """Handle a request, whose head may have ``head`` bytes."""
        self.rfile.left = self.head
        super().handle_one_request()

    @property
    def _sender(self) -> str:
        return str(self.client_address[0])

    def _say(self, answer: JoinAnswer) -> None:
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, because endpoints log what matters."""


class JoinHandler(HttpConnection):
    """Handler of one connection of a machine that joins."""

    server: Server[JoinEndpoint]

    def do_GET(self) -> None:
        """Answer a probe, or answer with a challenge or with the state of a request."""
        if self.path == JOIN_HEALTH_PATH:
            self._say(JoinAnswer(status=200 if self.server.healthy() else 503, body={}))
        elif self.path.startswith(CHALLENGE):
            self._say(self.server.endpoint.challenge(self.path.removeprefix(CHALLENGE), sender=self._sender))
        elif self.path.startswith(f"{JOIN}/"):
            self._say(self.server.endpoint.look(self.path.removeprefix(f"{JOIN}/"), sender=self._sender))
        else:
            self._say(JoinAnswer(status=404, body={"reason": "Unknown", "message": "there is nothing here"}))

    def do_POST(self) -> None:
        """Take a proof."""
        length = length_of(self.headers.get("Content-Length", ""))
        if self.path != JOIN or not 0 <= length <= LARGEST:
            # The body was not read, so the position of the next request on this connection is unknown.
            self.close_connection = True
            status = 413 if length > LARGEST else 400
            self._say(
                JoinAnswer(status=status, body={"reason": "Malformed", "message": f"post {LARGEST} bytes at most"})
            )
            return
        posted = self.rfile.read(length)
        if len(posted) == length:
            self._say(self.server.endpoint.join(posted, sender=self._sender))


def length_of(text: str) -> int:
    """Parse a Content-Length. Return -1 if it is not a number of at most nine digits."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1
