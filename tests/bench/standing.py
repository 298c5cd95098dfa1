"""An autoscaler in a process of its own, with groups in memory whose machines come and go at once."""

from __future__ import annotations

import multiprocessing
import resource
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

from clouds.aws import live_groups as aws
from clouds.base.live_groups import GroupState, LiveMachine, WholeObservation
from clouds.base.place import Place
from clouds.base.refusals import Refusal
from components.model import Environment
from components.model.prices.book import PriceBook
from contract.kubernetes.api import Api
from contract.metrics import Metric
from services.autoscaler.leader_loop import ProcessSettings, serve
from services.autoscaler.metrics import METRICS, PASS_SECONDS
from services.metrics import ServiceMetrics
from tests.support.api_server import ApiServer

PREFIX = "longhaul_autoscaler_"
PROCESSES = multiprocessing.get_context("fork")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A call to a cloud."""

    at: float
    """Time on the machine's monotonic clock, seconds."""
    group: str
    made: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


class Standing(WholeObservation):
    """A group in the autoscaler's memory, whose machines come and go at once."""

    ends_at_once = aws.AwsGroup.ends_at_once
    in_place = False

    def __init__(self, name: str, machines: Sequence[str], told: Any, looks: Any) -> None:
        self._name, self._told, self._looks = name, told, looks
        self._number = 1 + max((int(one.rpartition("-")[2]) for one in machines), default=-1)
        self._machines = tuple(LiveMachine(id=one, node=one, current=True) for one in machines)

    def look(self) -> GroupState:
        """Return the group."""
        with self._looks.get_lock():
            self._looks.value += 1
        return GroupState(target="v1", wanted=len(self._machines), machines=self._machines)

    def size(self) -> int:
        """Return its size."""
        return len(self._machines)

    def resize(self, count: int) -> None:
        """Make what is missing. A lower size than there are machines is an error: a cloud would choose one."""
        missing = count - len(self._machines)
        if missing < 0:
            raise RuntimeError(f"{self._name}: a size of {count} with {len(self._machines)} machines")
        names = tuple(f"{self._name}-{self._number + index}" for index in range(missing))
        self._number += missing
        self._machines += tuple(LiveMachine(id=one, node=one, current=True) for one in names)
        self._told.put(Told(at=time.monotonic(), group=self._name, made=names))

    def end(self, machines: Sequence[str], *, replaced: bool = False) -> None:
        """End machines, and lower the size by them."""
        self._machines = tuple(one for one in self._machines if one.id not in machines)
        self._told.put(Told(at=time.monotonic(), group=self._name, ended=tuple(machines)))

    def made_at(self, _machines: Sequence[LiveMachine]) -> Mapping[str, str]:
        """Return nothing."""
        return {}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return nothing: it has everything."""
        return ()


class Ahead(Api):
    """An API whose clock is set forward by another process."""

    ahead_s: Any = None

    def now(self) -> datetime:
        """Return the time."""
        return super().now() + timedelta(seconds=self.ahead_s.value)


class Longest(ServiceMetrics):
    """Metrics that know the longest pass besides."""

    def __init__(self, longest_s: Any) -> None:
        super().__init__(METRICS)
        self._longest_s = longest_s

    def count(self, counter: Metric, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        super().count(counter, by, **labels)
        if counter is PASS_SECONDS:
            self._longest_s.value = max(self._longest_s.value, by)


@dataclass(frozen=True)
class Shared:
    """Values that two processes share."""

    ahead_s: Any
    """Seconds by which the autoscaler's clock is ahead."""
    longest_s: Any
    """Seconds of the longest pass since this was last set to 0."""
    looks: Any
    """Number of looks at groups."""
    ask: Any
    answers: Any

    @classmethod
    def new(cls) -> Shared:
        """Return one."""
        value, queue = PROCESSES.Value, PROCESSES.Queue
        return cls(
            ahead_s=value("d", 0.0), longest_s=value("d", 0.0), looks=value("q", 0), ask=queue(), answers=queue()
        )


@dataclass(frozen=True)
class Served:
    """Handle of the process of the autoscaler."""

    pid: int
    shared: Shared

    def metrics(self) -> dict[str, float]:
        """Return its metrics, and its peak memory as ``peak_mib``."""
        self.shared.ask.put(None)
        lines = self.shared.answers.get(timeout=60).splitlines()
        parts = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name.removeprefix(PREFIX): float(value) for name, _, value in parts}


@contextmanager
def serving(
    environment: Environment, server: ApiServer, machines: Mapping[str, Sequence[str]], told: Any
) -> Iterator[Served]:
    """Run the service in a process of its own over groups with these machines; ``told`` takes its calls. Return once it
    has made a pass."""
    shared = Shared.new()
    process = PROCESSES.Process(target=_serve, args=(environment, server, machines, told, shared))
    process.start()
    served = Served(process.pid or 0, shared)
    try:
        while served.metrics().get("passes_total", 0) < 1:
            time.sleep(0.1)
        yield served
    finally:
        process.terminate()
        process.join()


def _serve(
    environment: Environment, server: ApiServer, machines: Mapping[str, Sequence[str]], told: Any, shared: Shared
) -> None:
    groups = {name: Standing(name, own, told, shared.looks) for name, own in machines.items()}

    def of_pool(_place: Place[Any], name: str) -> dict[str, Standing]:
        return {f"{environment.name}-{name}": groups[name]}

    api = Ahead(f"https://127.0.0.1:{server.port}", server.client(timeout_s=30.0)._identity, timeout_s=30.0)
    api.ahead_s = shared.ahead_s
    metrics = Longest(shared.longest_s)
    threading.Thread(target=_answer, args=(metrics, shared), daemon=True).start()
    with patch.object(aws, "live_groups", of_pool):
        run, stop = ProcessSettings(instance="bench"), threading.Event()
        with (server.folder / "autoscaler.log").open("a", encoding="utf-8") as log:
            write = partial(print, file=log, flush=True)
            serve(environment, api, PriceBook(), stop=stop, run=run, write=write, metrics=metrics)


def _answer(metrics: ServiceMetrics, shared: Shared) -> None:
    while True:
        shared.ask.get()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shared.answers.put(f"{metrics.text()}{PREFIX}peak_mib {peak}\n")
