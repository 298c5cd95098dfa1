"""Token buckets, which limit the number of operations per second and at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable


class Bucket:
    """A bucket, full at first. Not thread-safe."""

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = burst, clock()

    def wait_s(self) -> float:
        """Return the seconds until a token may be taken; 0 if a token may be taken now."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (1 - self._left) / self._rate)

    def take(self) -> None:
        """Take one token."""
        self._left -= 1


MANY = 10_000
"""Number of buckets at which all buckets are dropped. The oldest buckets are full again long before that."""


class Buckets:
    """One bucket for each key. Thread-safe."""

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._buckets: dict[Hashable, Bucket] = {}

    def take(self, whose: Hashable) -> bool:
        """Take one token from the bucket of the key ``whose``. Return False if the bucket has no token now."""
        with self._lock:
            if len(self._buckets) >= MANY:
                self._buckets.clear()
            fresh = Bucket(rate=self._rate, burst=self._burst, clock=self._clock)
            bucket = self._buckets.setdefault(whose, fresh)
            if bucket.wait_s() > 0:
                return False
            bucket.take()
            return True

    def is_empty(self, whose: Hashable) -> bool:
        """Return whether the bucket of the key ``whose`` has no token now."""
        with self._lock:
            bucket = self._buckets.get(whose)
            return bucket is not None and bucket.wait_s() > 0
