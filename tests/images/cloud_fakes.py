"""A cloud's API on loopback: gives a test's answers, and records the requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.support.loopback import Handler


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))


Answer = Callable[[Asked], tuple[int, bytes]]


class FakeCloud:
    """Serves ``answer``."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, list[Asked]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeCloud:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        cloud = self

        class Answers(Handler):
            def answer(self) -> tuple[int, bytes]:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = parse_qs(parts.query)
                asked = Asked(method=self.command, path=parts.path, query=query, headers=headers, body=body)
                cloud.asked.append(asked)
                return cloud.answer(asked)

        return Answers
