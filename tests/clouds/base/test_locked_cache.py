"""A value is made once, however many threads want it at the same time."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

from clouds.base.locked_cache import locked_cache


def test_threads_that_come_at_the_same_time_get_the_same_value() -> None:
    together, inside = Barrier(2), Barrier(2)

    @locked_cache
    def make(_name: str) -> object:
        # Passed at once by two that are in here at the same time.
        with contextlib.suppress(BrokenBarrierError):
            inside.wait(0.05)
        return object()

    def want(_: int) -> object:
        together.wait()
        return make("a")

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(want, range(2))
    assert first is second is make("a")
    assert make("b") is not first
