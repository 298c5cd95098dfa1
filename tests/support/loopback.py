"""HTTP servers on loopback, with the answers of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request."""

    method: str
    target: str
    """Path and query, as they were sent."""
    headers: dict[str, str]
    """Headers by their names in lower case."""
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))


Response = tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]]
"""Status, body, and headers besides the body's length."""


class Answering:
    """Serves ``answer`` while it is entered, and records the requests. Its address is known before."""

    def __init__(self, answer: Callable[[Asked], Response]) -> None:
        self.answer, self.asked = answer, list[Asked]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, server: Answering, *connection: Any) -> None:
        self._answering = server
        super().__init__(*connection)

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(method=self.command, target=self.path, headers=headers, body=body)
        self._answering.asked.append(asked)
        given = self._answering.answer(asked)
        self.send_response(given[0])
        more = given[2] if len(given) == 3 else {}
        for name, value in {"Content-Length": str(len(given[1])), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(given[1])

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _respond  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def listening(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run a server that answers with ``handler`` until the block ends; the block gets its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
