"""Time limits, and waiting for conditions that send no notification."""

from __future__ import annotations

import time
from collections.abc import Callable

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object

LOOK_S = 2.0
"""Pause between two polls of a condition, seconds."""
WATCH_S = 5.0
"""Longest time between two looks at a list when its watch reports no change, seconds."""

TELL_S = 30.0
"""Shortest time between two progress lines about one awaited condition, seconds."""

Clock = Callable[[], float]
Wait = Callable[[float], None]
Tell = Callable[[str], None]
"""Shows one line to people."""


def discard(_line: str) -> None:
    """Show the line to nobody."""


class Waiting:
    """One condition that is awaited from now on."""

    def __init__(self, what: str, *, clock: Clock = time.monotonic, tell: Tell = discard) -> None:
        self._what, self._clock, self._tell = what, clock, tell
        self._since = self._last_note = clock()

    def note(self, why_not: str, *, left_s: float) -> None:
        """Show a progress line, at most every :data:`TELL_S` seconds: the condition is not met because of ``why_not``,
        and ``left_s`` seconds remain."""
        now = self._clock()
        if now - self._last_note < TELL_S:
            return
        self._last_note = now
        because = f": {why_not}" if why_not else ""
        self._tell(f"{self._what}: awaited for {now - self._since:.0f} s, at most {left_s:.0f} s more{because}")


class LateError(Exception):
    """A condition was not met in time; the message names it and the state at the deadline."""


class Deadline:
    """A deadline."""

    def __init__(
        self, seconds: float, *, clock: Clock = time.monotonic, wait: Wait = time.sleep, tell: Tell = discard
    ) -> None:
        """``tell`` gets a line from time to time that names the awaited condition."""
        self._clock, self._wait, self.tell = clock, wait, tell
        self._until = clock() + seconds

    def remaining_s(self) -> float:
        """Return the seconds until the deadline; 0 when it has passed."""
        return max(0.0, self._until - self._clock())

    def within(self, seconds: float) -> Deadline:
        """Return a deadline ``seconds`` from now, but not later than this deadline."""
        return Deadline(min(seconds, self.remaining_s()), clock=self._clock, wait=self._wait, tell=self.tell)

    def waiting(self, what: str) -> Waiting:
        """Return a :class:`Waiting` for a condition that is awaited from now on."""
        return Waiting(what, clock=self._clock, tell=self.tell)

    def eventually(self, why_not: Callable[[], str], *, what: str) -> None:
        """Poll until ``why_not`` returns an empty text. Raise ``LateError`` with its last text at the deadline."""
        waiting = self.waiting(what)
        while reason := why_not():
            left = self.remaining_s()
            if not left:
                raise LateError(f"{what}: not in time: {reason}")
            waiting.note(reason, left_s=left)
            self._wait(min(LOOK_S, left))

    def await_items(
        self, api: Api, path: str, why_not: Callable[[list[Object]], str], *, what: str, **query: str
    ) -> None:
        """Read a list of the API whenever the list changes, until ``why_not`` returns an empty text for its items.
        Raise ``LateError`` with the last text at the deadline. Transient errors are retried."""
        waiting = self.waiting(what)
        while True:
            version, reason = "", ""
            try:
                listed = api.get(path, **query)
                version, reason = listed["metadata"]["resourceVersion"], why_not(listed.get("items") or [])
                if not reason:
                    return
            except ApiError as error:
                if not error.passing:
                    raise
                reason = str(error)
            left = self.remaining_s()
            if not left:
                raise LateError(f"{what}: not in time: {reason}")
            waiting.note(reason, left_s=left)
            self._changed(api, path, version, min(WATCH_S, left), query)

    def _changed(self, api: Api, path: str, version: str, limit_s: float, query: dict[str, str]) -> None:
        try:
            if version:
                return api.await_change(path, version=version, limit_s=limit_s, **query)
        except ApiError as error:
            if not error.passing:
                raise
        return self._wait(min(LOOK_S, limit_s))
