"""Which machines there are: each site's own list, held a short while.

A site's machines are read in bulk, never one by one: a listing now and then, and one as soon as a request names a
machine that is not in the last one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

log = logging.getLogger(__name__)

LISTING_S = 20.0
"""From one listing to the next: how long a machine that is gone may go unnoticed. Three calls a minute for each page
are far from EC2's limit of 20 a second (docs.aws.amazon.com, "Request throttling for the Amazon EC2 API") and from
Azure's for scale sets."""

SHARE = 0.1
"""Share of the time that listings may take: with thousands of machines they come less often."""

ASK_S = 1.0
"""Least time between questions that unknown names cause: a request with a made-up name costs its sender less than
us."""


class State(Enum):
    """Where a machine is in its life."""

    THERE = "there"
    ENDING = "ending"
    """On its way out, perhaps still running: no node any more, and not yet known to be off."""
    ENDED = "ended"
    """The cloud says that it is off for good."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine as its site's list has it."""

    name: str
    """The name of its Node."""
    site: str
    pool: str
    addresses: frozenset[str]
    """The machine's own, without its pods'."""
    identity: str = ""
    """What its cloud calls it in what it signs (in AWS the instance id, in Azure the vmId); empty on a rack."""
    state: State = State.THERE


class SourceError(Exception):
    """The list could not be had, or not all of it."""


class Source(Protocol):
    """Where one site's list is read. Both raise ``SourceError`` rather than answer in part."""

    site: str

    def everything(self) -> Mapping[str, Machine]:
        """Every machine of the site by name."""

    def some(self, names: Iterable[str]) -> Mapping[str, Machine]:
        """Those of the named machines that there are, and perhaps others."""


class Inventory:
    """One site's machines, as last listed. Absence is counted in complete listings alone."""

    def __init__(
        self,
        source: Source,
        *,
        clock: Callable[[], float] = time.monotonic,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self._clock, self._changed = source, clock, changed
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._machines: dict[str, Machine] = {}
        self._seen: dict[str, int] = {}
        self._asked: dict[str, float] = {}
        self._wanted: set[str] = set()
        self.listings = 0
        """Complete listings so far."""
        self.listed_at = -1.0
        """When the last complete one began."""
        self.failure = ""
        """Why the last question failed, empty when it did not."""

    @property
    def site(self) -> str:
        """The site's name."""
        return self.source.site

    def machine(self, name: str) -> Machine | None:
        """The machine, if the last listing or a later question had it."""
        with self._lock:
            return self._machines.get(name)

    def count(self) -> int:
        """Machines that are there."""
        with self._lock:
            return sum(machine.state is State.THERE for machine in self._machines.values())

    def absent_since(self, name: str) -> float:
        """When the last question began whose answer would have had the machine and did not; -1 when there is none."""
        with self._lock:
            return -1.0 if name in self._machines else max(self.listed_at, self._asked.get(name, -1.0))

    def missed(self, name: str) -> int:
        """In how many complete listings, up to the last, the machine was not."""
        with self._lock:
            return self.listings - self._seen.get(name, 0)

    def want(self, name: str) -> None:
        """Ask for a machine soon."""
        with self._lock:
            self._wanted.add(name)
        self._wake.set()

    def run(self, stop: threading.Event) -> None:
        """List and answer questions until stopped."""
        due = self._clock()
        while not stop.is_set():
            began = self._clock()
            if began >= due:
                self._attempt(self.list)
                due = self._clock() + max(LISTING_S, (self._clock() - began) / SHARE)
            else:
                self._attempt(self.ask)
            # What causes a question waits for this one, and for its least distance to the next.
            stop.wait(ASK_S)
            self._wake.wait(max(0.0, due - self._clock()))

    def wake(self) -> None:
        """Look now: for a stop."""
        self._wake.set()

    def list(self) -> None:
        """One complete listing; ``SourceError`` when it is not to be had, and then nothing changes."""
        began = self._clock()
        machines = self.source.everything()
        with self._lock:
            self.listings += 1
            self.listed_at = began
            self._machines = dict(machines)
            self._seen = {name: number for name, number in self._seen.items() if number > self.listings - 10}
            self._seen |= dict.fromkeys(machines, self.listings)
            self._asked = {}
            self._wanted -= machines.keys()

    def ask(self) -> None:
        """One question after the machines that are wanted."""
        with self._lock:
            names, self._wanted = sorted(self._wanted), set()
            self._wake.clear()
        if not names:
            return
        began = self._clock()
        machines = self.source.some(names)
        with self._lock:
            self._machines |= machines
            self._seen |= dict.fromkeys(machines, self.listings)
            self._asked |= dict.fromkeys(set(names) - machines.keys(), began)

    def _attempt(self, question: Callable[[], None]) -> None:
        try:
            question()
        except SourceError as error:
            if str(error) != self.failure:
                log.warning("site %s: %s", self.site, error)
            self.failure = str(error)
        else:
            if self.failure:
                log.info("site %s: answers again", self.site)
            self.failure = ""
        self._changed()


class Listed:
    """A source that is a list already: the hosts of a rack."""

    def __init__(self, site: str, machines: Mapping[str, Machine]) -> None:
        self.site, self._machines = site, machines

    def everything(self) -> Mapping[str, Machine]:
        """The list."""
        return self._machines

    def some(self, names: Iterable[str]) -> Mapping[str, Machine]:
        """Those of the list."""
        return {name: self._machines[name] for name in names if name in self._machines}
