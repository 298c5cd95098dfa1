"""A clock that a test turns, so that hours pass at once."""

from __future__ import annotations

import asyncio


class TurnedClock:
    """Clock that stands still until it is turned; see :class:`lab.cloud.delays.Clock`."""

    def __init__(self) -> None:
        self._now = 1_000_000_000.0
        self._waiting: list[asyncio.Event] = []

    def now(self) -> float:
        return self._now

    async def until(self, moment: float) -> None:
        while self._now < moment:
            turned = asyncio.Event()
            self._waiting.append(turned)
            await turned.wait()

    async def turn(self, seconds: float) -> None:
        """Let time pass. To be called in the loop that waits."""
        self._now += seconds
        for turned in self._waiting:
            turned.set()
        self._waiting.clear()
