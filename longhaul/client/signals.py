"""Signals that end a program, which should leave nothing behind then."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Take SIGTERM and SIGHUP for a ``SystemExit`` during the block, once. What is ignored stays so, as with
    nohup(1). For the main thread."""

    def end(number: int, _frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {one: signal.getsignal(one) for one in _ENDING}
    before = {one: how for one, how in before.items() if how is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one, how in before.items():
            signal.signal(one, how)
