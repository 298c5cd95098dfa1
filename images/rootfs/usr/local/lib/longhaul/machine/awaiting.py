"""Looks at what nothing tells of, until it is as it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def awaited(look: Callable[[], T], over: Callable[[T], bool], *, wait_s: float, pause_s: float) -> T:
    """Return the first look of which ``over`` says so, or the last within ``wait_s`` seconds, ``pause_s`` apart."""
    deadline = time.monotonic() + wait_s
    while True:
        observed = look()
        if over(observed) or time.monotonic() + pause_s > deadline:
            return observed
        time.sleep(pause_s)
