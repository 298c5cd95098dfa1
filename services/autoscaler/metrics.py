"""Metrics for Prometheus and a health check, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "longhaul_autoscaler_"
NAMES = {
    "passes_total": "counter",
    "passes_failed_total": "counter",
    "pass_seconds_total": "counter",
    "actions_total": "counter",
    "asked_machines_total": "counter",
    "failures_total": "counter",
    "pending_pods": "gauge",
    "groups_not_seen": "gauge",
    "holds": "gauge",
    "leader": "gauge",
}
"""Names without their prefix, and types: ``actions_total`` has the label ``verb``, ``asked_machines_total`` and
``failures_total`` have ``pool``."""


class AutoscalerMetrics:
    """Counters and gauges by name, labels included."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[str, str], float] = {("leader", ""): 0.0}

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = (name, _inside(labels))
        with self._lock:
            self._values[key] = self._values.get(key, 0) + by

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name, ""] = float(value)

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        with self._lock:
            values = sorted(self._values.items())
        lines, before = [], ""
        for (name, labels), value in values:
            if name != before:
                lines.append(f"# TYPE {PREFIX}{name} {NAMES[name]}")
                before = name
            lines.append(f"{PREFIX}{name}{labels} {value:g}")
        return "\n".join([*lines, ""])


def _inside(labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{{{inside}}}" if inside else ""


@contextmanager
def served(metrics: AutoscalerMetrics, *, port: int) -> Iterator[int]:
    """Serve ``/metrics`` and ``/healthz`` on loopback during the block; yield the port. 0 takes any that is free."""

    class MetricsHandler(BaseHTTPRequestHandler):
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

    with ThreadingHTTPServer(("127.0.0.1", port), MetricsHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
