"""The autoscaler as a service: of several processes one leads, and makes a pass whenever something has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.kubernetes.connection import ApiError
from contract.kubernetes.election import Candidate, terms
from contract.kubernetes.lease import holding
from services.autoscaler.cached import Lists
from services.autoscaler.guard import LostError
from services.autoscaler.journal import DecisionJournal, Write
from services.autoscaler.metrics import LEADER, METRICS
from services.autoscaler.passes import Passed, Passes
from services.autoscaler.reading import NAME, list_all
from services.autoscaler.snapshot import AutoscalerSettings
from services.metrics import ServiceMetrics

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api

EVERY_S = 10.0
"""Longest time between two passes, seconds."""
CLOSELY_S = 1.0
"""The same while a group was asked for machines just now, seconds."""
GATHER_S = 0.1
"""Time in which changes are gathered before a pass, seconds: pods come in crowds."""
AFTER_ERROR_S = 2.0
"""Pause after a pass that failed, seconds."""
AFTER_LEFT_S = 5.0
"""Time after a pass that left something undone, seconds."""


@dataclass(frozen=True, kw_only=True)
class ServiceTerms:
    """Terms on which an autoscaler runs."""

    instance: str
    """Name of this process among the candidates."""
    act: bool = True
    """False for one that changes nothing."""
    elected: bool = True
    """False for one that takes no lease, and looks beside whoever leads."""
    as_json: bool = False
    """True for a decision log that programs read."""
    settings: AutoscalerSettings | None = None

    @property
    def identity(self) -> str:
        """Return what this process is called as a holder of leases."""
        return f"{NAME}/{self.instance}"


def serve(
    environment: Environment,
    api: Api,
    prices: PriceBook,
    *,
    stop: threading.Event,
    run: ServiceTerms,
    write: Write = print,
    metrics: ServiceMetrics | None = None,
) -> None:
    """Lead whenever no other does, until stopped. ``write`` takes the lines of the decision log. Errors that time does
    not heal are raised."""
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


def once(environment: Environment, api: Api, prices: PriceBook, *, run: ServiceTerms, write: Write = print) -> Passed:
    """Make one pass, and wait until everything in it is done. Raise ``HeldError`` when another process leads, and
    ``ApiError`` when the API refuses or does not answer."""

    def passed(leads: Callable[[], bool]) -> Passed:
        passes = Passes(
            environment,
            api,
            prices,
            read=lambda memory, _now: list_all(api, memory),
            leads=leads,
            identity=run.identity,
            journal=DecisionJournal(write, as_json=run.as_json, now=api.now),
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
    run: ServiceTerms,
    write: Write,
    metrics: ServiceMetrics,
) -> None:
    """Make passes until stopped, or until another leads."""
    wake = threading.Event()
    lists = Lists(api, wake.set)
    journal = DecisionJournal(write, as_json=run.as_json, now=api.now)
    passes = Passes(
        environment,
        api,
        prices,
        read=lists.listed,
        leads=leads,
        identity=run.identity,
        journal=journal,
        metrics=metrics,
        act=run.act,
        settings=run.settings,
    )
    journal.say("autoscaler", f"{'leading' if run.act else 'looking'} as {run.instance}")
    try:
        with lists.followed():
            while leads() and not (stop.is_set() or lists.synced()):
                stop.wait(GATHER_S)
            while not stop.is_set() and leads():
                wake.clear()
                _pause(_pass(passes, journal), wake=wake, stop=stop, leads=leads)
        if not stop.is_set():
            journal.say("autoscaler", "leading no longer: another one does, or the API servers do not answer")
    except LostError as error:
        journal.say("autoscaler", f"not leading: {error}")
    finally:
        passes.close()


def _pass(passes: Passes, journal: DecisionJournal) -> float:
    """Make a pass, and return the time until the next one, seconds, if nothing changes before."""
    try:
        passed = passes.run()
    except ApiError as error:
        journal.say("no pass", str(error))
        return AFTER_ERROR_S
    if passed.refused:
        return 0.0
    if passed.soon:
        return CLOSELY_S
    return AFTER_LEFT_S if passed.failed else EVERY_S


def _pause(seconds: float, *, wake: threading.Event, stop: threading.Event, leads: Callable[[], bool]) -> None:
    """Wait until something changes, the time is over, or it is the end of leading."""
    left_s = seconds
    while left_s > 0 and not (stop.is_set() or wake.wait(min(left_s, CLOSELY_S))) and leads():
        left_s -= CLOSELY_S
    stop.wait(GATHER_S)
