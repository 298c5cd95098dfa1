"""Talking to an API server: requests, discovery, watches."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from lab.providers.kubernetes_config import Access

Object = dict[str, Any]
APPLY = "application/apply-patch+yaml"
CONNECT_S = 10.0
ANSWER_S = 60.0
WATCH_S = 240
"""Seconds after which a watch is opened anew; proxies and balancers cut older ones."""
RECONNECT_S = 1.0
TRIES = 10
"""Of a request that the server asks to repeat later, as client-go does."""


class ApiError(Exception):
    """A refusal of the API server, or no answer at all (``code`` 0)."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.details = code, reason, details or {}


class NoMatchError(ApiError):
    """The API server has no such kind."""


class CancelledError(Exception):
    """The engine asked to stop."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Where the API server keeps a kind."""

    base: str
    """``/api/v1`` or ``/apis/<group>/<version>``."""
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """The address of the collection, or of one object in it."""
        inside = f"/namespaces/{quote(namespace)}" if self.namespaced and namespace else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{quote(name)}" if name else "")


class Client:
    """One identity at one API server; safe for many threads."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.cancelled = threading.Event()
        self._local = threading.local()
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Resource]] = {}
        self._watches: set[_Connection] = set()

    def resource(self, api_version: str, kind: str) -> Resource:
        """Where ``kind`` is kept, from discovery; :class:`NoMatchError` when there is no such kind."""
        with self._lock:
            known = self._known.get(api_version, {})
        if kind not in known:
            # Asked again for what was not there: a definition may have been made since.
            known = self._discover(api_version)
            with self._lock:
                self._known[api_version] = known
        if kind not in known:
            raise NoMatchError(404, "NoMatch", f'no matches for kind "{kind}" in version "{api_version}"')
        return known[kind]

    def _discover(self, api_version: str) -> dict[str, Resource]:
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            listed = self.send("GET", base)["resources"]
        except ApiError as problem:
            if problem.code == 404:
                return {}
            raise
        return {
            one["kind"]: Resource(base=base, plural=one["name"], namespaced=one["namespaced"])
            for one in listed
            if "/" not in one["name"]
        }

    def get(self, api_version: str, kind: str, *, namespace: str | None, name: str) -> Object | None:
        """One object, or ``None``."""
        try:
            return self.send("GET", self.resource(api_version, kind).path(namespace, name))
        except ApiError as problem:
            if problem.code == 404 and not isinstance(problem, NoMatchError):
                return None
            raise

    def items(self, api_version: str, kind: str, *, namespace: str | None, selector: str = "") -> list[Object]:
        """Every object of a kind in a namespace, with what a list leaves out of its items."""
        query = {"labelSelector": selector} if selector else {}
        answer = self.send("GET", self.resource(api_version, kind).path(namespace), query=query)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.get("items") or []]

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """One request and its answer; :class:`ApiError` for a refusal, :class:`CancelledError`."""
        target = f"{path}?{urlencode(query)}" if query else path
        payload = json.dumps(body).encode() if body is not None else None
        for _ in range(TRIES):
            response, content = self._exchange(method, target, payload, content_type)
            later = response.getheader("Retry-After") if response.status in (429, 500, 503, 504) else None
            if not later:
                return _checked(response.status, content)
            self.wait(min(float(later), 10.0))
        return _checked(response.status, content)

    def wait(self, seconds: float) -> None:
        """Wait as the server asked; :class:`CancelledError` when the engine asks to stop."""
        if self.cancelled.wait(seconds):
            raise CancelledError("the engine asked to stop")

    def cancel(self) -> None:
        """Stop everything under way."""
        self.cancelled.set()
        with self._lock:
            for connection in self._watches:
                connection.cut()

    def follow(
        self, resource: Resource, *, namespace: str | None, name: str, timeout_s: float
    ) -> Iterator[Object | None]:
        """One object now and at each change, ``None`` when it is not there; ends after ``timeout_s``.

        Raises ApiError, CancelledError.
        """
        deadline = time.monotonic() + timeout_s
        only = {"fieldSelector": f"metadata.name={name}"}
        while True:
            try:
                listed = self.send("GET", resource.path(namespace), query=only)
            except ApiError as problem:
                # A server that is replaced is away for a moment; its successor knows as much.
                if 0 < problem.code < 500 or time.monotonic() >= deadline:
                    raise
                self.wait(RECONNECT_S)
                continue
            yield next(iter(listed.get("items") or []), None)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            query = {**only, "watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
            yield from self._watch(resource.path(namespace), query, seconds=min(left, WATCH_S))
            self.wait(0)

    def _watch(self, path: str, query: dict[str, str], *, seconds: float) -> Iterator[Object | None]:
        """The changes of one watch; ends when it is over or broken off, and the caller looks anew."""
        connection = _Connection(self.access, timeout=seconds + ANSWER_S)
        query["timeoutSeconds"] = str(max(1, int(seconds)))
        with self._lock:
            self._watches.add(connection)
        try:
            connection.request("GET", f"{path}?{urlencode(query)}", headers=self._headers())
            response = connection.getresponse()
            if response.status != 200:
                _checked(response.status, response.read())
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield None if event["type"] == "DELETED" else event["object"]
        except (OSError, http.client.HTTPException, ValueError):
            return
        finally:
            with self._lock:
                self._watches.discard(connection)
            connection.close()

    def _exchange(
        self, method: str, target: str, payload: bytes | None, content_type: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """On the thread's own connection; once more on a fresh one when the server had closed the old one meanwhile."""
        headers = {**self._headers(), "Content-Type": content_type}
        old: _Connection | None = getattr(self._local, "connection", None)
        for connection in (old, _Connection(self.access, timeout=ANSWER_S)):
            # A creation is not repeated: who closed the connection may have done it first.
            if connection is None or (connection is old and method == "POST"):
                continue
            try:
                connection.request(method, target, body=payload, headers=headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                if connection is not old:
                    self._local.connection = None
                    raise self._unreachable(problem) from None
                continue
            if old is not None and connection is not old:
                old.close()
            self._local.connection = None if response.will_close else connection
            return response, content
        raise ApiError(0, "Unreachable", f"{self.access.host}:{self.access.port} cannot be reached")

    def _headers(self) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.access.token}"} if self.access.token else {}
        return {"Accept": "application/json", "User-Agent": "pulumi-kubernetes (lab)", **token}

    def _unreachable(self, problem: Exception) -> ApiError:
        return ApiError(0, "Unreachable", f"https://{self.access.host}:{self.access.port} cannot be reached: {problem}")


class _Connection(http.client.HTTPConnection):
    """HTTPS with the name to check apart from the address to connect to."""

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
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return


def _checked(status: int, content: bytes) -> Object:
    try:
        answer = json.loads(content) if content else {}
    except ValueError:
        answer = {"message": content.decode(errors="replace")[:500]}
    if status < 400:
        return dict(answer)
    reason = answer.get("reason") or http.client.responses.get(status, "")
    raise ApiError(status, reason, answer.get("message") or f"HTTP {status} {reason}", answer.get("details"))
