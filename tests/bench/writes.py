"""Benchmarks of writes through a real API server on one etcd or on two, quiet and in a storm of events, and on a disk
whose syncs take 2 ms more."""

from __future__ import annotations

import multiprocessing
import secrets
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

from contract.kubernetes.api import Api, path_of
from lab import tools
from tests.support.api_server import ApiServer, Storage, api_server

LASTS_S = 20.0
"""Time for which each load is measured, seconds."""
STORMING = 4
"""Processes that create events, each as fast as it is answered."""
ANSWER_S = 30.0
SLOWER_US = 2000
"""Delay of each sync, microseconds: what a network disk takes (docs/lessons.md, 2)."""

DELAYED = (
    "strace",
    "--follow-forks",
    "--seccomp-bpf",
    "--quiet=all",
    "--output=/dev/null",
    "--trace=fsync,fdatasync",
    f"--inject=fsync,fdatasync:delay_exit={SLOWER_US}",
)
"""strace stops no other system call, and holds each sync back on its way out of the kernel."""

KINDS = {
    "two etcds": Storage(synced=True, split=True),
    "one etcd": Storage(synced=True),
    "two etcds, syncs 2 ms slower": Storage(synced=True, split=True, under=DELAYED),
}

Figures = Iterator[tuple[str, float]]


def measure(folder: Path) -> Figures:
    """Yield the figures by name."""
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=_tell)
    for index, (name, storage) in enumerate(KINDS.items()):
        if storage.under and not shutil.which(storage.under[0]):
            _tell(f"{name}: not measured: there is no {storage.under[0]} here")
            continue
        at = folder / f"writes-{index}"
        at.mkdir()
        with api_server(at, tools=binaries, services=IPv4Network("10.79.0.0/17"), storage=storage) as server:
            yield from _measured(server, f"writes, {name}")


def _measured(server: ApiServer, name: str) -> Figures:
    quiet = _written_ms(server)
    yield from _told(f"{name}, quiet", quiet)
    with _storm(server) as created:
        before, began = created.value, time.monotonic()
        stormy = _written_ms(server)
        rate = (created.value - before) / (time.monotonic() - began)
    yield from _told(f"{name}, storm", stormy)
    yield f"{name}, storm, events/s", rate
    yield f"{name}, p99 in the storm / quiet", _p99(stormy) / _p99(quiet)


def _told(name: str, found: list[float]) -> Figures:
    yield f"{name}, p50, ms", statistics.median(found)
    yield f"{name}, p99, ms", _p99(found)
    yield f"{name}, writes", len(found)


def _p99(found: list[float]) -> float:
    return statistics.quantiles(found, n=100)[-1]


def _written_ms(server: ApiServer) -> list[float]:
    """Create config maps one after the other, and return how long each took."""
    api, found = server.client(timeout_s=ANSWER_S), list[float]()
    until = time.monotonic() + LASTS_S
    while (began := time.monotonic()) < until:
        api.post(_maps(), {"metadata": {"name": secrets.token_hex(8)}, "data": {"value": secrets.token_hex(256)}})
        found.append((time.monotonic() - began) * 1000)
    return found


def _maps() -> str:
    return path_of("api", "v1", "namespaces", "default", "configmaps")


@contextmanager
def _storm(server: ApiServer) -> Iterator[Synchronized[int]]:
    """Have events created all the time, and give their number so far."""
    forked = multiprocessing.get_context("fork")
    over, created = forked.Event(), forked.Value("i", 0)
    clients = [server.client(timeout_s=ANSWER_S) for _ in range(STORMING)]
    storming = [forked.Process(target=_create_events, args=(one, over, created)) for one in clients]
    try:
        for process in storming:
            process.start()
        yield created
    finally:
        over.set()
        for process in storming:
            process.join()


def _create_events(api: Api, over: Event, created: Synchronized[int]) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "storm", "apiVersion": "v1"}
    while not over.is_set():
        name = f"storm.{secrets.token_hex(8)}"
        body = {"metadata": {"name": name}, "involvedObject": about, "reason": "Storm", "message": "x" * 200}
        api.post(path_of("api", "v1", "namespaces", "default", "events"), {**body, "type": "Warning"})
        with created.get_lock():
            created.value += 1


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
