"""Progress lines about what is awaited."""

from __future__ import annotations

import time
from collections.abc import Callable

TELL_S = 30.0
"""Least time between two lines about one awaited thing, seconds."""

Clock = Callable[[], float]
Tell = Callable[[str], None]
"""Shows one line to people."""


def nobody(_line: str) -> None:
    """Show the line to nobody."""


class Waiting:
    """One thing that is awaited from now on."""

    def __init__(self, what: str, *, clock: Clock = time.monotonic, tell: Tell = nobody) -> None:
        self._what, self._clock, self._tell = what, clock, tell
        self._since = self._told = clock()

    def note(self, why_not: str, *, left_s: float) -> None:
        """Note that it is not so yet, for that reason, with so many seconds left. A line is shown from time to time."""
        now = self._clock()
        if now - self._told < TELL_S:
            return
        self._told = now
        because = f": {why_not}" if why_not else ""
        self._tell(f"{self._what}: awaited for {now - self._since:.0f} s, at most {left_s:.0f} s more{because}")
