"""Requests to a cluster's API: kept connections, refusals, answers that go on."""

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

CONNECT_S = 10.0
TIMEOUT_S = 30.0
"""How long one answer may take, seconds."""
IDLE_S = 60.0
"""A kept connection that was not used for so long may have been forgotten by something on its way."""
PAUSE_S = 10.0
"""The longest wait that a server's ``Retry-After`` is believed, seconds."""
LATER = (429, 500, 503, 504)
BUSY = (410, 502, *LATER)
"""Answers after which the same question may be answered (k8s.io/apimachinery, ``errors.SuggestsClientDelay`` and what
load balancers say); 410 is a list whose next page came too late, and has to begin anew."""

Object = dict[str, Any]


class ApiError(Exception):
    """The API refused, or did not answer."""

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        """``status`` is its HTTP status, 0 for no answer; ``reason`` its word for a refusal (``Status.reason``), or why
        there is no answer."""
        super().__init__(message)
        self.status, self.reason, self.details = status, reason, details or {}

    @property
    def passing(self) -> bool:
        """Whether it may be otherwise in a moment."""
        return self.status == 0 or self.status in BUSY


class CancelledError(Exception):
    """Whoever asked was told to stop."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """One cluster and one identity."""

    host: str
    port: int
    context: ssl.SSLContext
    server_name: str
    """Name that the server's certificate must have."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Go with every request: a token, for one."""
    timeout_s: float = TIMEOUT_S


class Client:
    """One identity at one API server; safe for many threads, each of which has a connection. Every call raises
    :class:`ApiError` for what is not done, and past :meth:`cancel` :class:`CancelledError`."""

    def __init__(self, access: Access, *, tries: int = 1) -> None:
        """``tries``: how often in all a request is made that the server asks to repeat later."""
        self.access = access
        self.cancelled = threading.Event()
        self._tries = tries
        self._local = threading.local()
        self._lock = threading.Lock()
        self._watches: set[_Connection] = set()
        self._ahead = 0.0

    def now(self) -> datetime:
        """The time on the API servers' clock, as their last answer told it: what is written into objects is compared
        with what other machines write, and this machine's clock may be anybody's."""
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self._ahead, UTC)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """One request and its answer."""
        payload = json.dumps(body).encode() if body is not None else None
        headers = self._headers() if payload is None else {**self._headers(), "Content-Type": content_type}
        for left in reversed(range(self._tries)):
            response, content = self._exchange(method, _target(path, query), payload, headers)
            later = response.getheader("Retry-After") if response.status in LATER else None
            if not later or not left:
                break
            self.wait(min(float(later), PAUSE_S))
        return _checked(response.status, content)

    def lines(self, path: str, query: Mapping[str, str], *, silence_s: float) -> Generator[bytes, None, None]:
        """The lines of an answer that goes on, such as a watch, on a connection of its own; ``OSError`` or
        ``HTTPException`` when it breaks off."""
        connection = _Connection(self.access, timeout=silence_s)
        with self._lock:
            self._watches.add(connection)
        try:
            connection.request("GET", _target(path, query), headers=self._headers())
            response = connection.getresponse()
            if response.status != 200:
                _checked(response.status, response.read())
            yield from response
        finally:
            with self._lock:
                self._watches.discard(connection)
            connection.close()

    def wait(self, seconds: float) -> None:
        """Wait unless told to stop."""
        if self.cancelled.wait(seconds):
            raise CancelledError("the engine asked to stop")

    def cancel(self) -> None:
        """Stop everything under way."""
        self.cancelled.set()
        with self._lock:
            for connection in self._watches:
                connection.cut()

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "User-Agent": "longhaul", **self.access.headers}

    def _exchange(
        self, method: str, target: str, payload: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """On the thread's own connection; once more on a fresh one when the server had closed the old one meanwhile."""
        kept = self._kept(method)
        for connection in (kept, _Connection(self.access, timeout=self.access.timeout_s)):
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

    def _kept(self, method: str) -> _Connection | None:
        """The thread's connection, taken from it. A creation is not repeated, so it has a fresh one: who closed the old
        one may have done it first."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None and (method == "POST" or time.monotonic() - self._local.used > IDLE_S):
            connection.close()
            return None
        return connection

    def silent(self, problem: Exception) -> ApiError:
        """The error of no answer."""
        why = str(problem) or type(problem).__name__
        return ApiError(f"https://{self.access.host}:{self.access.port} does not answer: {why}", reason=why)


class _Connection(http.client.HTTPConnection):
    """HTTPS past any proxy, with the name to check apart from the address to connect to."""

    def __init__(self, access: Access, *, timeout: float) -> None:
        super().__init__(access.host, access.port, timeout=timeout)
        self._access = access

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), timeout=CONNECT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._access.context.wrap_socket(plain, server_hostname=self._access.server_name)
        self.sock.settimeout(self.timeout)

    def cut(self) -> None:
        """End a read that another thread waits in."""
        sock = self.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def load_chain(context: ssl.SSLContext, pem: str) -> None:
    """Load a certificate and its key, for which OpenSSL wants a file: one that only this process has, in memory."""
    descriptor = os.memfd_create("client", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")


def _target(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _checked(status: int, content: bytes) -> Object:
    """The answer; :class:`ApiError` with what the API says of a refusal (its ``Status`` object)."""
    try:
        answer = dict(json.loads(content)) if content else {}
    except (ValueError, TypeError):
        if status < 400:
            raise ApiError("the answer is no JSON object", reason="no JSON") from None
        answer = {}
    if status < 400:
        return answer
    reason = str(answer.get("reason") or http.client.responses.get(status, ""))
    message = str(answer.get("message") or f"{status} {reason}")
    raise ApiError(message, status=status, reason=reason, details=answer.get("details"))


def _ahead(date: str | None, before: float) -> float:
    """Seconds that another's clock, which tells whole ones, is ahead of this one; differences too small to matter are
    none."""
    try:
        found = parsedate_to_datetime(date or "").timestamp() - datetime.now(UTC).timestamp()
    except (TypeError, ValueError):
        return before
    return found if abs(found) > 2 else 0.0
