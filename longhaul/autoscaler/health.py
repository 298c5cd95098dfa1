"""Health check and metrics of the unit, on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "longhaul_autoscaler_"


class Health:
    """What the unit says of itself. Each value is set by the thread that works, and read by those that answer."""

    def __init__(self) -> None:
        self.leading = False
        self.groups = 0
        """Groups that the last pass has read."""
        self.unseen = 0
        """Groups that the last pass could not read."""
        self.passes = 0

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        values = {
            "leader": int(self.leading),
            "groups_read": self.groups,
            "groups_not_read": self.unseen,
            "passes_total": self.passes,
        }
        return "".join(f"{PREFIX}{name} {value}\n" for name, value in values.items())


def answer(health: Health, *, port: int) -> ThreadingHTTPServer:
    """Answer ``/healthz`` and ``/metrics`` in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = {"/healthz": "ok\n", "/metrics": health.text()}.get(self.path)
            content = (body or "not found\n").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: a probe comes every few seconds."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
