"""Requests to a cluster's API: reused connections, refusals, streamed answers."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

JSON = "application/json"

CONNECT_S = 10.0
TIMEOUT_S = 30.0
"""Longest wait for one answer, seconds."""
IDLE_S = 60.0
"""Idle time after which a connection is not reused, seconds. A device on the path may have dropped the connection by
then."""
PAUSE_S = 10.0
"""Longest wait after a server's ``Retry-After``, seconds."""
LATER = (429, 500, 503, 504)
BUSY = (410, 502, *LATER)
"""Status codes after which the same request may succeed later (k8s.io/apimachinery, ``errors.SuggestsClientDelay``),
with the codes of load balancers. 410 means that the next page of a list was requested too late, so the list must be
read again."""

Object = dict[str, Any]


class ApiError(Exception):
    """The API refused, or did not answer."""

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        """``status`` is the HTTP status, or 0 without an answer. ``reason`` is the API's word for the refusal
        (``Status.reason``), or the reason why there was no answer."""
        super().__init__(message)
        self.status, self.reason, self.details = status, reason, details or {}

    @property
    def passing(self) -> bool:
        """Return whether a later try may succeed."""
        return self.status == 0 or self.status in BUSY


class CancelledError(Exception):
    """The caller was told to stop."""


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """Address and identity for one cluster."""

    host: str
    port: int
    context: ssl.SSLContext
    server_name: str
    """Name that the server's certificate must have."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers sent with every request, such as a token."""
    timeout_s: float = TIMEOUT_S


class ApiClient:
    """Client of one API server with one identity. Threads may share the client; each thread has its own connection. A
    call that fails raises :class:`ApiError`. A wait for a retry raises :class:`CancelledError` after :meth:`cancel`."""

    def __init__(self, access: ClusterAccess, *, tries: int = 1) -> None:
        """``tries`` is the largest number of attempts for a request that the server asks to repeat later."""
        self.access = access
        self.cancelled = threading.Event()
        self._tries = tries
        self._local = threading.local()
        self._lock = threading.Lock()
        self._watches: set[_ApiConnection] = set()
        self._ahead = 0.0
        self._fresh_since = 0.0

    def now(self) -> datetime:
        """Return the time by the clock of the API servers, as their last answer showed it. Compare times in objects,
        which other machines write, with this time, because this machine's clock may be wrong."""
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self._ahead, UTC)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Object:
        """Send one request and return its answer."""
        payload = json.dumps(body).encode() if body is not None else None
        headers = {**self._headers(), "Accept": accept} | ({} if payload is None else {"Content-Type": content_type})
        for left in reversed(range(self._tries)):
            response, content = self._exchange(method, _target(path, query), payload, headers)
            later = response.getheader("Retry-After") if response.status in LATER else None
            if not later or not left:
                break
            self.wait(min(float(later), PAUSE_S))
        return _checked(response.status, content)

    def lines(
        self, path: str, query: Mapping[str, str], *, silence_s: float, accept: str = JSON
    ) -> Generator[bytes, None, None]:
        """Yield the lines of a streamed answer, such as a watch, on a separate connection. Raise ``OSError`` or
        ``HTTPException`` if the connection breaks."""
        self.prepare()
        connection = _ApiConnection(self.access, timeout=silence_s)
        with self._lock:
            self._watches.add(connection)
        try:
            connection.request("GET", _target(path, query), headers={**self._headers(), "Accept": accept})
            response = connection.getresponse()
            if response.status != 200:
                _checked(response.status, response.read())
            yield from response
        finally:
            with self._lock:
                self._watches.discard(connection)
            connection.close()

    def wait(self, seconds: float) -> None:
        """Wait. Raise :class:`CancelledError` if :meth:`cancel` was called or is called meanwhile."""
        if self.cancelled.wait(seconds):
            raise CancelledError("the engine asked to stop")

    def cancel(self) -> None:
        """End all streamed answers, and all waits for a retry."""
        self.cancelled.set()
        self.hang_up()

    def hang_up(self) -> None:
        """End all current streamed answers. Other requests continue."""
        with self._lock:
            for connection in self._watches:
                connection.cut()

    def _headers(self) -> dict[str, str]:
        return {"User-Agent": "longhaul", **self.access.headers}

    def prepare(self) -> None:
        """Renew the identity before a request. By default do nothing."""

    def reconnect(self) -> None:
        """Make later requests on new connections."""
        self._fresh_since = time.monotonic()

    def _exchange(
        self, method: str, target: str, payload: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request on the thread's own connection. If the server has closed that connection meanwhile, send the
        request again on a new connection."""
        self.prepare()
        kept = self._kept(method)
        for connection in (kept, _ApiConnection(self.access, timeout=self.access.timeout_s)):
            if connection is None:
                continue
            try:
                connection.request(method, target, body=payload, headers=headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                if connection is kept:
                    continue
                raise self.silent(problem) from None
            self._local.connection = None if response.will_close else connection
            self._local.used = time.monotonic()
            self._ahead = _ahead(response.getheader("Date"), self._ahead)
            return response, content
        raise AssertionError("a fresh connection answers or raises")

    def _kept(self, method: str) -> _ApiConnection | None:
        """Take the thread's open connection, if a request with this method may use it. A creation gets a new
        connection, because it must not be sent twice: a server that closes an old connection may already have created
        the object."""
        connection: _ApiConnection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is None:
            return None
        old = connection.made < self._fresh_since or time.monotonic() - self._local.used > IDLE_S
        if old or method == "POST":
            connection.close()
            return None
        return connection

    def silent(self, problem: Exception) -> ApiError:
        """Return the error for a missing answer."""
        why = str(problem) or type(problem).__name__
        return ApiError(f"https://{self.access.host}:{self.access.port} does not answer: {why}", reason=why)


class _ApiConnection(http.client.HTTPConnection):
    """An HTTPS connection without a proxy. The name in the server's certificate may differ from the address."""

    def __init__(self, access: ClusterAccess, *, timeout: float) -> None:
        super().__init__(access.host, access.port, timeout=timeout)
        self._access, self.made = access, time.monotonic()

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), timeout=CONNECT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._access.context.wrap_socket(plain, server_hostname=self._access.server_name)
        self.sock.settimeout(self.timeout)

    def cut(self) -> None:
        """End another thread's read from this connection."""
        sock = self.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def load_chain(context: ssl.SSLContext, pem: str) -> None:
    """Load a certificate and its key. OpenSSL needs a file, so both are written to a file in memory, which only this
    process can open."""
    descriptor = os.memfd_create("client", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")


def _target(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _checked(status: int, content: bytes) -> Object:
    """Return the answer. If the API refused, raise :class:`ApiError` with its explanation (the ``Status`` object)."""
    try:
        answer = dict(json.loads(content)) if content else {}
    except (ValueError, TypeError):
        if status < 400:
            raise ApiError("the answer is not a JSON object", reason="no JSON") from None
        answer = {}
    if status < 400:
        return answer
    reason = str(answer.get("reason") or http.client.responses.get(status, ""))
    message = str(answer.get("message") or f"{status} {reason}")
    raise ApiError(message, status=status, reason=reason, details=answer.get("details"))


def _ahead(date: str | None, before: float) -> float:
    """Return how many seconds the clock of ``date`` is ahead of this machine's clock. Return 0 for at most two seconds,
    since ``date`` has whole seconds, and ``before`` if ``date`` cannot be read."""
    try:
        difference = parsedate_to_datetime(date or "").timestamp() - datetime.now(UTC).timestamp()
    except (TypeError, ValueError):
        return before
    return difference if abs(difference) > 2 else 0.0
