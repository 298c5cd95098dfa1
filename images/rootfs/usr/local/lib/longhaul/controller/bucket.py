"""A token bucket: so many a second, so many at once."""

from __future__ import annotations

import time
from collections.abc import Callable


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
