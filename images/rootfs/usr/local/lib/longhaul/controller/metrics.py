"""Metrics for Prometheus and a health check, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contract.endpoints import NODE_CONTROLLER_PORT

PREFIX = "longhaul_node_controller_"


class Metrics:
    """Counters, and gauges that are computed at each read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, float] = {}
        self.gauges: Callable[[], dict[str, float]] = dict
        """Returns the gauges' values by name, labels included."""

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = labelled(f"{name}_total", **labels)
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + by

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        with self._lock:
            counters = dict(self._counters)
        return "".join(f"{PREFIX}{key} {value:g}\n" for key, value in sorted({**counters, **self.gauges()}.items()))


def labelled(name: str, **labels: str) -> str:
    """Return a metric's name with its labels."""
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}" if inside else name


def serve(metrics: Metrics, *, port: int = NODE_CONTROLLER_PORT) -> ThreadingHTTPServer:
    """Serve ``/metrics`` and ``/healthz`` on loopback, in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            bodies: dict[str, Callable[[], str]] = {"/healthz": lambda: "ok\n", "/metrics": metrics.text}
            body = bodies.get(self.path)
            content = body().encode() if body else b"not found\n"
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
