"""A token bucket: so many a second, so many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable


class Bucket:
    """Full at first. Not for several threads."""

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = burst, clock()

    def wait_s(self) -> float:
        """Seconds until one may be taken; 0 when now."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (1 - self._left) / self._rate)

    def take(self) -> None:
        """Take one."""
        self._left -= 1


MANY = 10_000
"""Buckets that are kept at once; long before there are more, the first ones are full again."""


class Buckets:
    """One for each of many, for several threads."""

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._held: dict[Hashable, Bucket] = {}

    def take(self, whose: Hashable) -> bool:
        """Take one now; False when there is none."""
        with self._lock:
            if len(self._held) >= MANY:
                self._held.clear()
            fresh = Bucket(rate=self._rate, burst=self._burst, clock=self._clock)
            bucket = self._held.setdefault(whose, fresh)
            if bucket.wait_s() > 0:
                return False
            bucket.take()
            return True
