"""Pauses after what does not answer or asks for fewer requests: each is twice as long as the one before."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

FIRST_S, MOST_S = 5.0, 300.0
"""The first pause, and the longest, in seconds."""


class GroupPauses:
    """Pauses by name. It is safe for many threads, and a restart forgets it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failed: dict[str, tuple[int, float, str]] = {}

    def failed(self, name: str, reason: str) -> None:
        """Begin a pause. What fails while one goes on was begun before it, and makes it no longer."""
        with self._lock:
            count, until, _ = self._failed.get(name, (0, 0.0, ""))
            if self._clock() >= until:
                pause_s = min(FIRST_S * 2 ** min(count, 10), MOST_S)
                self._failed[name] = (count + 1, self._clock() + pause_s, reason)

    def answered(self, name: str) -> None:
        """Forget what failed, unless a pause goes on: what is answered meanwhile was asked before it."""
        with self._lock:
            if self._clock() >= self._failed.get(name, (0, 0.0, ""))[1]:
                self._failed.pop(name, None)

    def closed(self, name: str) -> str:
        """Return why there is a pause, and how long it still is; empty when there is none."""
        with self._lock:
            _, until, reason = self._failed.get(name, (0, 0.0, ""))
        left_s = until - self._clock()
        return f"{reason}; it is asked again in {math.ceil(left_s)} s" if left_s > 0 else ""
