"""Time that operations of the clouds take: the documented time, multiplied by one factor of the lab."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time, and waits for a moment."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    async def until(self, moment: float) -> None:
        """Wait until ``moment``, in seconds since the epoch; return at once when it has passed."""


class SystemClock:
    """The host's clock."""

    def now(self) -> float:
        """See :class:`Clock`."""
        return time.time()

    async def until(self, moment: float) -> None:
        """See :class:`Clock`."""
        if (left := moment - self.now()) > 0:
            await asyncio.sleep(left)


class Delays:
    """Delays of the clouds' operations. With factor 0 nothing waits; with factor 1 everything takes as long as
    documented."""

    def __init__(self, factor: float = 0.0, *, clock: Clock | None = None, seed: str = "") -> None:
        """``seed`` decides what :meth:`share` returns."""
        self._factor, self._clock, self._seed = factor, clock or SystemClock(), seed

    def now(self) -> float:
        """Return seconds since the epoch, by the lab's clock."""
        return self._clock.now()

    def after(self, documented_s: float, *, since: float | None = None) -> float:
        """Return the moment, in seconds since the epoch, at which an operation ends. The operation takes
        ``documented_s`` in the cloud, and began at ``since``, by default now."""
        return (self.now() if since is None else since) + documented_s * self._factor

    async def until(self, moment: float) -> None:
        """Wait until a moment that :meth:`after` has returned."""
        await self._clock.until(moment)

    def share(self, *words: str) -> float:
        """Return a number in [0, 1) that looks random but is always the same for the same words."""
        digest = hashlib.sha256("\0".join((self._seed, *words)).encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48
