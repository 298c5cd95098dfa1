"""Kubernetes API client, limited to what the controller uses."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 20.0
"""Timeout in seconds for one answer."""

PAGE = 500
"""Objects in one page of a listing, as in kubectl."""

SILENCE_S = 90.0
"""Seconds of silence after which a watch is dead: the server sends a bookmark about once a minute (k8s.io/apiserver,
``defaultBookmarkFrequency``)."""

WATCH_S = 600
"""Life of one watch in seconds; the server ends it, and the client continues from the last version."""

METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""Media types for an object without its contents: the controller has no need of a Node's images or a Secret's
values."""

Object = dict[str, Any]


class ApiError(Exception):
    """Raised when the API server did not do what was asked. ``status`` is 0 when it did not answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(kw_only=True)
class Api:
    """Client of one API server. Every thread has its own connection."""

    host: str
    port: int
    authority: Path
    """File with the authority of the server's certificate."""
    certificate: Path
    """File with this client's certificate and key."""
    timeout_s: float = TIMEOUT_S
    agent: str = "longhaul-node-controller"
    """User agent of the requests."""

    def __post_init__(self) -> None:
        self._local = threading.local()
        self._watching: set[http.client.HTTPSConnection] = set()

    def get(self, path: str, *, accept: str = "application/json", **query: str) -> Object:
        """Return one object or one page."""
        return self._json("GET", path, query=query, accept=accept)

    def find(self, path: str, *, accept: str = "application/json") -> Object | None:
        """Return one object, or None when it does not exist."""
        try:
            return self.get(path, accept=accept)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def post(self, path: str, document: Object) -> Object:
        """Create an object."""
        return self._json("POST", path, body=document)

    def put(self, path: str, document: Object) -> Object:
        """Replace an object; refused with 409 when it has changed since it was read."""
        return self._json("PUT", path, body=document)

    def patch(self, path: str, document: Object, *, strategic: bool = False) -> Object:
        """Merge into an object. With ``strategic``, lists with a key are merged entry by entry, such as a Node's
        conditions by type."""
        kind = "strategic-merge-patch" if strategic else "merge-patch"
        return self._json("PATCH", path, body=document, content=f"application/{kind}+json")

    def delete(self, path: str, *, uid: str = "") -> bool:
        """Delete an object; with ``uid``, only if it still has this UID. Return False when it does not exist."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **({"preconditions": {"uid": uid}} if uid else {})}
        try:
            self._json("DELETE", path, body=options)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def pages(self, path: str, *, accept: str = "application/json", **query: str) -> Iterator[Object]:
        """Return a listing page by page."""
        going = {"limit": str(PAGE), **query}
        while True:
            page = self.get(path, accept=accept, **going)
            yield page
            follow = page.get("metadata", {}).get("continue")
            if not follow:
                return
            going["continue"] = follow

    def watch(self, path: str, *, since: str, accept: str = "application/json", **query: str) -> Iterator[Object]:
        """Return the events after the version ``since``, until the server ends the watch. ``ApiError`` 410 when that
        version is no longer known."""
        going = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "timeoutSeconds": str(WATCH_S),
            **query,
        }
        connection = self._connection(SILENCE_S)
        self._watching.add(connection)
        try:
            response = self._send(connection, "GET", path, query=going, accept=accept)
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(int(event["object"].get("code", 500)), str(event["object"].get("message", "")))
                yield event
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ApiError(0, f"watch of {path}: {type(error).__name__}: {error}") from None
        finally:
            self._watching.discard(connection)
            connection.close()

    def hang_up(self) -> None:
        """End every watch in progress."""
        for connection in tuple(self._watching):
            # Closing alone does not wake the thread that reads.
            with contextlib.suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        accept: str = "application/json",
        content: str = "application/json",
    ) -> Object:
        # A kept connection that the server has closed meanwhile fails only now; the second try makes a new one.
        for last in (False, True):
            connection = getattr(self._local, "connection", None)
            kept = connection is not None
            if connection is None:
                connection = self._local.connection = self._connection(self.timeout_s)
            try:
                response = self._send(
                    connection, method, path, query=query or {}, body=body, accept=accept, content=content
                )
                document = json.loads(response.read() or b"{}")
            except ApiError as error:
                if error.status == 401:
                    # The certificate of this connection has expired; the file may hold a new one.
                    connection.close()
                    self._local.connection = None
                raise
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                self._local.connection = None
                if kept and not last and isinstance(error, ConnectionError | http.client.BadStatusLine):
                    continue
                raise ApiError(0, f"{method} {path}: {type(error).__name__}: {error}") from None
            return dict(document)
        raise ApiError(0, f"{method} {path}: no connection")

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        """Return a new connection with the present certificate, which is renewed in place."""
        try:
            context = ssl.create_default_context(cafile=str(self.authority))
            context.load_cert_chain(self.certificate)
        except OSError as error:
            raise ApiError(0, f"{self.certificate} or {self.authority}: {error}") from None
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)

    def _send(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        body: Object | None = None,
        content: str = "application/json",
    ) -> http.client.HTTPResponse:
        target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        headers = {"Accept": accept, "User-Agent": self.agent}
        if body is not None:
            headers["Content-Type"] = content
        connection.request(method, target, body=None if body is None else json.dumps(body), headers=headers)
        response = connection.getresponse()
        if response.status >= 400:
            text = response.read().decode(errors="replace")
            raise ApiError(response.status, f"{method} {path}: {response.status} {_message(text)}")
        return response


def _message(text: str) -> str:
    """Return the message of a Status object."""
    try:
        return str(json.loads(text).get("message") or text)
    except (ValueError, AttributeError):
        return text[:200]
