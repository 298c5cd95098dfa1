"""HTTP servers on loopback, with the answers of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Gives the answer of a subclass, and logs nothing."""

    def answer(self) -> tuple[int, bytes]:
        """Return status and body for the request."""
        raise NotImplementedError

    def _respond(self) -> None:
        status, body = self.answer()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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
