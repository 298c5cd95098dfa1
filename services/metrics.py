"""Metrics of a service for Prometheus, and its health check, on loopback.

A service declares its metrics in ``services/<service>/metrics.py``, and lists them in the tuple ``METRICS`` there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contract.metrics import LabelValues, Metric

Read = Callable[[], Mapping[LabelValues, float]]
"""Returns all values of a gauge at the moment of the call."""


class ServiceMetrics:
    """Values of a service's metrics. A metric without labels begins at 0."""

    def __init__(self, declared: Iterable[Metric]) -> None:
        self._lock = threading.Lock()
        self._values: dict[Metric, dict[LabelValues, float]] = {
            metric: {} if metric.labels else {(): 0.0} for metric in declared
        }
        self._reads: dict[Metric, Read] = {}

    def count(self, counter: Metric, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = _key(counter, labels)
        with self._lock:
            values = self._values[counter]
            values[key] = values.get(key, 0.0) + by

    def set(self, gauge: Metric, value: float, **labels: str) -> None:
        """Set a gauge."""
        key = _key(gauge, labels)
        with self._lock:
            self._values[gauge][key] = float(value)

    def replace(self, gauge: Metric, values: Mapping[LabelValues, float]) -> None:
        """Replace all values of a gauge."""
        with self._lock:
            self._values[gauge] = dict(values)

    def read_from(self, gauge: Metric, read: Read) -> None:
        """Register the function that returns a gauge's values at each request for the metrics."""
        self._reads[gauge] = read

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        with self._lock:
            values = {metric: dict(values) for metric, values in self._values.items()}
        values |= {gauge: dict(read()) for gauge, read in self._reads.items()}
        return "".join(metric.text(values[metric]) for metric in sorted(values, key=lambda metric: metric.name))


def _key(metric: Metric, labels: Mapping[str, str]) -> LabelValues:
    if labels.keys() != {*metric.labels}:
        raise ValueError(f"{metric.name} has the labels {metric.labels}, not {tuple(labels)}")
    return tuple(labels[name] for name in metric.labels)


@contextmanager
def metrics_server(metrics: ServiceMetrics, *, port: int) -> Iterator[int]:
    """Serve ``/metrics`` and ``/healthz`` on loopback during the block, and yield the port. Port 0 stands for any free
    port."""

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
            """Log nothing, because probes come every few seconds."""

    with ThreadingHTTPServer(("127.0.0.1", port), MetricsHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
