"""Inventory of a site's machines, by the list of the site's cloud, which is kept for a short time.

Machines are read in bulk: by a complete listing at intervals, and by a query as soon as a request names a machine that
the last listing lacks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from clouds.base.errors import CloudError
from clouds.base.machine_lists import ListedMachine, MachineList, Presence

log = logging.getLogger(__name__)

LISTING_S = 20.0
"""Seconds between two listings. The end of a machine may go unnoticed for this long. Three calls a minute for each page
are far below EC2's limit of 20 calls a second (docs.aws.amazon.com, "Request throttling for the Amazon EC2 API"). For a
cloud that allows fewer, :attr:`MachineList.apart_s` is longer."""

SHARE = 0.1
"""Largest share of the time that listings may take. With thousands of machines, listings come less often."""

ASK_S = 1.0
"""Shortest time in seconds between queries for unknown names, because a request with an invented name costs its sender
less than this controller."""


class Inventory:
    """Machines of a site, by the last listing and later queries."""

    def __init__(
        self,
        source: MachineList,
        *,
        clock: Callable[[], float] = time.monotonic,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self._clock, self._changed = source, clock, changed
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._machines: dict[str, ListedMachine] = {}
        self._last_listing: dict[str, int] = {}
        self._asked: dict[str, float] = {}
        self._wanted: set[str] = set()
        self.listings = 0
        """Number of complete listings so far."""
        self.listed_at = -1.0
        """Time at which the last complete listing began; -1 before the first."""
        self.failure = ""
        """Reason why the last listing or query failed; empty if it succeeded."""

    @property
    def site(self) -> str:
        """Name of the site."""
        return self.source.site

    def machine(self, name: str) -> ListedMachine | None:
        """Return the machine; None if neither the last listing nor a later query had it."""
        with self._lock:
            return self._machines.get(name)

    def count(self) -> int:
        """Return the number of machines that exist and are not ending."""
        with self._lock:
            return sum(machine.presence is Presence.THERE for machine in self._machines.values())

    def absent_since(self, name: str) -> float:
        """Return the time at which the last listing or query without the machine began; -1 if there is none, or if the
        inventory has the machine."""
        with self._lock:
            return -1.0 if name in self._machines else max(self.listed_at, self._asked.get(name, -1.0))

    def missed(self, name: str) -> int:
        """Return the number of complete listings since a listing or a query last had the machine."""
        with self._lock:
            return self.listings - self._last_listing.get(name, 0)

    def want(self, name: str) -> None:
        """Have :meth:`run` query a machine soon."""
        with self._lock:
            self._wanted.add(name)
        self._wake.set()

    def run(self, stop: threading.Event) -> None:
        """Make listings and queries until ``stop`` is set."""
        due = self._clock()
        while not stop.is_set():
            began = self._clock()
            if began >= due:
                self._attempt(self.list)
                due = self._clock() + max(LISTING_S, (self._clock() - began) / SHARE, self.source.apart_s)
            else:
                self._attempt(self.ask)
            # Further queries wait for the end of this one and for the shortest time between two.
            stop.wait(max(ASK_S, self.source.apart_s))
            self._wake.wait(max(0.0, due - self._clock()))

    def wake(self) -> None:
        """Wake :meth:`run`, which then notices a stop."""
        self._wake.set()

    def list(self) -> None:
        """Make a complete listing. If the listing raises ``CloudError``, the inventory stays as it is."""
        began = self._clock()
        machines = self.source.everything()
        with self._lock:
            self.listings += 1
            self.listed_at = began
            self._machines = dict(machines)
            self._last_listing = {
                name: number for name, number in self._last_listing.items() if number > self.listings - 10
            }
            self._last_listing |= dict.fromkeys(machines, self.listings)
            self._asked = {}
            self._wanted -= machines.keys()

    def ask(self) -> None:
        """Make a query for the wanted machines."""
        with self._lock:
            names, self._wanted = sorted(self._wanted), set()
            self._wake.clear()
        if not names:
            return
        began = self._clock()
        machines = self.source.some(names)
        with self._lock:
            self._machines |= machines
            self._last_listing |= dict.fromkeys(machines, self.listings)
            self._asked |= dict.fromkeys(set(names) - machines.keys(), began)

    def _attempt(self, question: Callable[[], None]) -> None:
        try:
            question()
        except CloudError as error:
            if str(error) != self.failure:
                log.warning("site %s: %s", self.site, error)
            self.failure = str(error)
        else:
            if self.failure:
                log.info("site %s: answers again", self.site)
            self.failure = ""
        self._changed()
