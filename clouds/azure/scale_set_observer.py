"""Observes scale sets for an autoscaler within Azure's limits of requests (MicrosoftDocs/azure-compute-docs,
compute-throttling-limits.md): one list of a resource group's scale sets has their sizes, and a scale set's machines are
listed only when they may have changed.

The limit of a list of machines is not documented. It is assumed to equal the limit of a scale set's expensive reads: 30
requests, and 10 more each minute. An autoscaler uses 4 a minute; the rest is left to the node controller and to others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.scale_set_documents import creation_times, is_spot, machine_of, refusal_of, target
from clouds.azure.session import RequestSender
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.live_groups import GroupObservation, GroupState, Life, LiveMachine, unjoined
from clouds.base.refusals import Refusal

SETS_S = 4.5
"""Time for which a list of scale sets is used, seconds: less than the time between two observations of one scale
set."""
CHANGING_S = 15.0
"""Shortest time between two lists of a scale set's machines while they change, in seconds for each page of the list."""
SETTLED_S = 30.0
"""Shortest time between two lists of a settled scale set's machines, in seconds for each page of the list. Azure
changes the size or state of a settled scale set before it removes a machine."""


class SetList:
    """Scale sets of a resource group, read by one request for all callers at about the same time."""

    def __init__(
        self,
        resource_group: str,
        *,
        session: RequestSender | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``resource_group`` is the path of the resource group."""
        self._path = f"{resource_group}/providers/Microsoft.Compute/virtualMachineScaleSets"
        self._manager, self._clock = ResourceManager(session, tries=0), clock
        self._lock = threading.Lock()
        self._outdated = True
        self._at = 0.0
        self._answer: Mapping[str, dict[str, Any]] | AzureError = {}

    def document(self, name: str) -> dict[str, Any] | None:
        """Return a scale set; None when the list lacks it. Raise ``AzureError`` when the list cannot be read."""
        with self._lock:
            if self._outdated or self._clock() - self._at > SETS_S:
                self._outdated, self._at = False, self._clock()
                self._answer = self._listed()
            answer = self._answer
        if isinstance(answer, AzureError):
            raise answer
        return answer.get(name.lower())

    def forget(self) -> None:
        """Make the next caller read the list anew, because a scale set was written."""
        self._outdated = True

    def _listed(self) -> Mapping[str, dict[str, Any]] | AzureError:
        try:
            items = list(self._manager.pages(self._path, version=COMPUTE_VERSION))
            return {str(item["name"]).lower(): item for item in items}
        except AzureError as error:
            return error


@dataclass(frozen=True, kw_only=True)
class _MachineListing:
    """A list of a scale set's machines."""

    mark: tuple[str, ...]
    """State of the scale set before the list."""
    at: float
    writes: int
    """Number of writes before the list."""
    pages: int
    settled: bool
    """True when nothing is under way in the scale set, and every machine is in service."""
    machines: tuple[LiveMachine, ...]
    made: Mapping[str, str]
    """Creation times by machine id."""
    refusals: tuple[Refusal, ...]


class ScaleSetObserver:
    """Observer of one scale set. Observations must not overlap; a write may happen during an observation."""

    def __init__(self, path: str, *, sets: SetList, session: RequestSender | None, clock: Callable[[], float]) -> None:
        """``path`` is the path of the scale set; ``sets`` is the list that contains the scale set."""
        self._path, self._name, self._sets = path, path.rpartition("/")[2], sets
        self._manager, self._clock = ResourceManager(session, tries=0), clock
        self._writes = 0
        self._listing: _MachineListing | None = None

    def observe(self, nodes: frozenset[str]) -> GroupObservation:
        """Return the scale set for an autoscaler. Its machines were listed at most :data:`SETTLED_S` seconds ago, or
        :data:`CHANGING_S` seconds ago while they change, each multiplied by the number of the list's pages."""
        writes = self._writes
        # A list may be short. Only the answer about the scale set itself says that it does not exist.
        document = self._sets.document(self._name) or self._manager.get(self._path, version=COMPUTE_VERSION)
        wanted, state = int(document["sku"]["capacity"]), str(document["properties"].get("provisioningState", ""))
        mark = (target(document), str(wanted), state)
        listing = self._listing
        if listing is None or listing.writes != writes or listing.mark != mark or self._is_due(listing):
            listing = self._listing = self._listed(mark, writes, wanted, spot=is_spot(document))
        joining = unjoined(listing.machines, nodes)
        owes = joining or wanted > sum(machine.counted for machine in listing.machines)
        return GroupObservation(
            group=GroupState(target=mark[0], wanted=wanted, machines=listing.machines),
            made={machine.id: listing.made[machine.id] for machine in joining if machine.id in listing.made},
            refusals=listing.refusals if owes else (),
        )

    @contextmanager
    def written(self) -> Iterator[None]:
        """Make the observation after a write list everything, whether the write succeeds or fails."""
        try:
            yield
        finally:
            self._writes += 1
            self._sets.forget()

    def _is_due(self, listing: _MachineListing) -> bool:
        return self._clock() - listing.at >= (SETTLED_S if listing.settled else CHANGING_S) * listing.pages

    def _listed(self, mark: tuple[str, ...], writes: int, wanted: int, *, spot: bool) -> _MachineListing:
        at = self._clock()
        pages = list(
            self._manager.page_by_page(f"{self._path}/virtualMachines", version=COMPUTE_VERSION, expand="instanceView")
        )
        items = [item for page in pages for item in page]
        machines = tuple(machine for item in items if (machine := machine_of(item)))
        refusals = tuple(refusal for item in items if (refusal := refusal_of(item, spot=spot)))
        in_service = all(machine.life is Life.PRESENT for machine in machines) and not refusals
        return _MachineListing(
            mark=mark,
            at=at,
            writes=writes,
            pages=len(pages),
            settled=in_service and len(machines) == len(items) == wanted and mark[-1] == "Succeeded",
            machines=machines,
            made=creation_times(items),
            refusals=refusals,
        )
