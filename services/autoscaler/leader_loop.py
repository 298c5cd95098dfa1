"""The autoscaler as a service: one of several processes leads, and runs a pass whenever something has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.kubernetes.connection import ApiError
from contract.kubernetes.election import Candidate, terms
from contract.kubernetes.lease import holding
from services.autoscaler.cluster_state import NAME, list_all
from services.autoscaler.decision_log import DecisionLog, Write
from services.autoscaler.leadership import LeadershipLostError
from services.autoscaler.metrics import LEADER, METRICS
from services.autoscaler.scaling_pass import PassResult, PassRunner
from services.autoscaler.time_limits import ScalingLimits
from services.autoscaler.watched_lists import WatchedLists
from services.metrics import ServiceMetrics

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api

EVERY_S = 10.0
"""Longest time between two passes, seconds."""
CLOSELY_S = 1.0
"""Longest time between two passes after a group was just asked for machines, seconds."""
GATHER_S = 0.1
"""Time in which changes are collected before a pass, seconds: pods often come in large numbers."""
AFTER_ERROR_S = 2.0
"""Pause after a failed pass, seconds."""
AFTER_LEFT_S = 5.0
"""Time until the next pass after a pass that left something undone, seconds."""


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """Settings of an autoscaler process."""

    instance: str
    """Name of this process among the candidates."""
    act: bool = True
    """False to change nothing."""
    elected: bool = True
    """False to take no lease, and run beside the leader."""
    as_json: bool = False
    """True for a decision log in JSON."""
    settings: ScalingLimits | None = None

    @property
    def identity(self) -> str:
        """Return this process's name as a holder of leases."""
        return f"{NAME}/{self.instance}"


def serve(
    environment: Environment,
    api: Api,
    prices: PriceBook,
    *,
    stop: threading.Event,
    run: ProcessSettings,
    write: Write = print,
    metrics: ServiceMetrics | None = None,
) -> None:
    """Lead whenever no other process does, until stopped. ``write`` takes the lines of the decision log. Permanent
    errors are raised."""
    counters = metrics or ServiceMetrics(METRICS)
    if not run.elected:
        _lead(environment, api, prices, leads=lambda: True, stop=stop, run=run, write=write, metrics=counters)
    candidate = Candidate(api, NAME, identity=run.identity)
    while run.elected and not stop.is_set():
        with candidate.leading(stop) as leads:
            if leads is None:
                return
            counters.set(LEADER, 1)
            _lead(environment, api, prices, leads=leads, stop=stop, run=run, write=write, metrics=counters)
            counters.set(LEADER, 0)


def run_once(
    environment: Environment, api: Api, prices: PriceBook, *, run: ProcessSettings, write: Write = print
) -> PassResult:
    """Run one pass, and wait until everything in it is done. Raise ``HeldError`` when another process leads, and
    ``ApiError`` when the API refuses or does not answer."""

    def passed(leads: Callable[[], bool]) -> PassResult:
        passes = PassRunner(
            environment,
            api,
            prices,
            read=lambda memory, _now: list_all(api, memory),
            leads=leads,
            identity=run.identity,
            decision_log=DecisionLog(write, as_json=run.as_json, now=api.now),
            metrics=ServiceMetrics(METRICS),
            act=run.act,
            settings=run.settings,
        )
        try:
            return passes.run(limit_s=None)
        finally:
            passes.close()

    if not run.act:
        return passed(lambda: True)
    with holding(api, NAME, holder=run.identity, times=terms(gone=lambda _other: False)) as lock:
        return passed(lock)


def _lead(
    environment: Environment,
    api: Api,
    prices: PriceBook,
    *,
    leads: Callable[[], bool],
    stop: threading.Event,
    run: ProcessSettings,
    write: Write,
    metrics: ServiceMetrics,
) -> None:
    """Run passes until stopped, or until another process leads."""
    wake = threading.Event()
    lists = WatchedLists(api, wake.set)
    decision_log = DecisionLog(write, as_json=run.as_json, now=api.now)
    passes = PassRunner(
        environment,
        api,
        prices,
        read=lists.listed,
        leads=leads,
        identity=run.identity,
        decision_log=decision_log,
        metrics=metrics,
        act=run.act,
        settings=run.settings,
    )
    decision_log.record("autoscaler", f"{'leading' if run.act else 'looking'} as {run.instance}")
    try:
        with lists.followed():
            while leads() and not (stop.is_set() or lists.synced()):
                stop.wait(GATHER_S)
            while not stop.is_set() and leads():
                wake.clear()
                _pause(_pass(passes, decision_log), wake=wake, stop=stop, leads=leads)
        if not stop.is_set():
            decision_log.record(
                "autoscaler", "no longer leading: another process leads, or the API servers do not answer"
            )
    except LeadershipLostError as error:
        decision_log.record("autoscaler", f"not leading: {error}")
    finally:
        passes.close()


def _pass(passes: PassRunner, decision_log: DecisionLog) -> float:
    """Run a pass, and return the time until the next one if nothing changes before, seconds."""
    try:
        passed = passes.run()
    except ApiError as error:
        decision_log.record("no pass", str(error))
        return AFTER_ERROR_S
    if passed.refused:
        return 0.0
    if passed.soon:
        return CLOSELY_S
    return AFTER_LEFT_S if passed.failed else EVERY_S


def _pause(seconds: float, *, wake: threading.Event, stop: threading.Event, leads: Callable[[], bool]) -> None:
    """Wait until something changes, the time is over, or this process stops leading."""
    left_s = seconds
    while left_s > 0 and not (stop.is_set() or wake.wait(min(left_s, CLOSELY_S))) and leads():
        left_s -= CLOSELY_S
    stop.wait(GATHER_S)
