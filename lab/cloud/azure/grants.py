"""Role assignments take effect late, and not everywhere at once: each of Azure's caches learns of an assignment at a
different moment.

"When you assign roles […], it can take up to 10 minutes for changes to take effect"
(learn.microsoft.com/azure/role-based-access-control/troubleshooting, "Role assignment changes are not being detected").
Callers reach several caches, so a caller may be admitted once and then refused again. Here, at three moments that look
random, a new assignment takes effect, loses its effect again, and then takes effect for good.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from lab.cloud.delays import Delays
from lab.cloud.store import DocumentStore, ResourceDocument

KIND = "grant"
LONGEST_S = 600.0
"""Seconds after which an assignment is in force everywhere."""
TURNS = (True, False, True)
"""States of an assignment after each of its moments."""


class AssignmentChanges:
    """Brings role assignments into force, in background tasks."""

    def __init__(
        self, *, store: DocumentStore, delays: Delays, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._store = store
        self._delays = delays
        self._spawn = spawn

    def made(self, assignment: ResourceDocument) -> None:
        """Start to bring a new assignment into force. Without delays it is in force at once."""
        shares = sorted(self._delays.share(assignment.key, str(turn)) for turn in range(len(TURNS)))
        moments = [self._delays.after(LONGEST_S * share) for share in shares]
        if moments[-1] > self._delays.now():
            self._store.set_record(KIND, assignment.key, {"moments": moments, "in_force": False})
            self._spawn(self._follow(assignment.key, moments))

    def resume(self) -> None:
        """Continue changes that a restart of the daemon interrupted."""
        for key, record in self._store.records(KIND).items():
            self._spawn(self._follow(key, record["moments"]))

    async def _follow(self, key: str, moments: list[float]) -> None:
        for moment, in_force in zip(moments, TURNS, strict=True):
            await self._delays.until(moment)
            record = self._store.record(KIND, key)
            if record is None or record["moments"] != moments:
                return  # deleted and made again meanwhile
            self._store.set_record(KIND, key, {"moments": moments, "in_force": in_force})
        self._store.set_record(KIND, key, None)


def in_force(store: DocumentStore, assignment: ResourceDocument) -> bool:
    """Return whether an assignment is in force now."""
    record = store.record(KIND, assignment.key)
    return record is None or bool(record["in_force"])
