"""Polling of a state whose changes are not announced."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def poll_until(look: Callable[[], T], over: Callable[[T], bool], *, wait_s: float, pause_s: float) -> T:
    """Call ``look`` every ``pause_s`` seconds. Return the first result that satisfies ``over``, or the last result
    within ``wait_s`` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        observed = look()
        if over(observed) or time.monotonic() + pause_s > deadline:
            return observed
        time.sleep(pause_s)
