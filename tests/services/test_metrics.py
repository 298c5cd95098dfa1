"""Metrics of a service, as Prometheus reads them."""

from __future__ import annotations

import urllib.request

import pytest

from contract.metrics import Metric
from services.metrics import ServiceMetrics, metrics_server

ENDS = Metric("longhaul_part_ends_total", "Ends by cause", ("reason", "pool"))
WAITS = Metric("longhaul_part_waits", "What waits", ("reason",))
LEADER = Metric("longhaul_part_leader", "1 for the process\nthat leads")


def test_the_text_is_prometheus_own_format() -> None:
    metrics = ServiceMetrics((LEADER, WAITS, ENDS))
    metrics.count(ENDS, reason="Empty", pool='a"\\\n')
    metrics.count(ENDS, 1_234_567.5, reason="Dead", pool="b")
    metrics.count(ENDS, reason="Dead", pool="b")
    assert metrics.text() == (
        "# HELP longhaul_part_ends_total Ends by cause\n"
        "# TYPE longhaul_part_ends_total counter\n"
        'longhaul_part_ends_total{reason="Dead",pool="b"} 1234568.5\n'
        'longhaul_part_ends_total{reason="Empty",pool="a\\"\\\\\\n"} 1\n'
        "# HELP longhaul_part_leader 1 for the process\\nthat leads\n"
        "# TYPE longhaul_part_leader gauge\n"
        "longhaul_part_leader 0\n"
    )


def test_a_gauge_is_set_replaced_or_read_when_somebody_asks() -> None:
    metrics, leads = ServiceMetrics((LEADER, WAITS)), [1.0]
    metrics.set(WAITS, 2, reason="PoolAtMax")
    metrics.replace(WAITS, {("NoPoolFits",): 3})
    metrics.read_from(LEADER, lambda: {(): leads[0]})
    assert _samples(metrics.text()) == ["longhaul_part_leader 1", 'longhaul_part_waits{reason="NoPoolFits"} 3']
    leads[0] = 0
    metrics.replace(WAITS, {})
    assert _samples(metrics.text()) == ["longhaul_part_leader 0"]


def test_what_is_not_declared_is_a_mistake_of_the_code() -> None:
    metrics = ServiceMetrics((ENDS,))
    with pytest.raises(ValueError, match="longhaul_part_ends_total has the labels"):
        metrics.count(ENDS, reason="Empty")
    with pytest.raises(KeyError):
        metrics.set(LEADER, 1)


def test_they_are_served_on_loopback() -> None:
    with metrics_server(ServiceMetrics((LEADER,)), port=0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4"
            assert _samples(answer.read().decode()) == ["longhaul_part_leader 0"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
            assert answer.read() == b"ok\n"


def _samples(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]
