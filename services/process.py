"""Process of a service on an API server's machine: its arguments, its log, its end by a signal, and its metrics."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contract.metrics import Metric
from services.machine import NODE, PKI, ServiceMachine
from services.metrics import ServiceMetrics, metrics_server


@dataclass(frozen=True, kw_only=True)
class ServiceProcess:
    """A running service: its machine, its metrics and the event that ends it."""

    machine: ServiceMachine
    metrics: ServiceMetrics
    stop: threading.Event
    """Set by SIGTERM and SIGINT."""


@contextmanager
def service_process(description: str | None, *, port: int, metrics: Iterable[Metric]) -> Iterator[ServiceProcess]:
    """Read the command line, and serve health and ``metrics`` on loopback during the block. ``port`` is the default
    port."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--node", type=Path, default=NODE, help="what this machine is")
    parser.add_argument("--pki", type=Path, default=PKI, help="where its certificates are")
    parser.add_argument("--port", type=int, default=port, help="port of health and metrics, on loopback")
    arguments = parser.parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    machine, values = ServiceMachine.read(arguments.node, arguments.pki), ServiceMetrics(metrics)
    with metrics_server(values, port=arguments.port):
        yield ServiceProcess(machine=machine, metrics=values, stop=stop)
