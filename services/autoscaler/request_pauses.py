"""Pauses for clouds that do not answer or ask for fewer requests: each is twice as long as the previous one."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

FIRST_S, MOST_S = 5.0, 300.0
"""First and longest pause, seconds."""


class GroupPauses:
    """Pauses by the name of a cloud or a group. The object is safe for many threads; a restart loses the pauses."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failed: dict[str, tuple[int, float, str]] = {}

    def failed(self, name: str, reason: str, *, retry_s: float = 0.0) -> None:
        """Begin a pause, which lasts ``retry_s`` seconds if the cloud has requested that. A failure during a pause does
        not extend it, since its request was sent before the pause."""
        with self._lock:
            count, until, _ = self._failed.get(name, (0, 0.0, ""))
            if self._clock() >= until:
                pause_s = min(retry_s or FIRST_S * 2 ** min(count, 10), MOST_S)
                self._failed[name] = (count + 1, self._clock() + pause_s, reason)

    def answered(self, name: str) -> None:
        """Forget the failures, unless a pause is running: an answer during a pause is to an earlier request."""
        with self._lock:
            if self._clock() >= self._failed.get(name, (0, 0.0, ""))[1]:
                self._failed.pop(name, None)

    def closed(self, name: str) -> str:
        """Return the reason for a running pause, and its remaining time; empty without one."""
        with self._lock:
            _, until, reason = self._failed.get(name, (0, 0.0, ""))
        left_s = until - self._clock()
        return f"{reason}; it is asked again in {math.ceil(left_s)} s" if left_s > 0 else ""
