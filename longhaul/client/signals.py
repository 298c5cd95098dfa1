"""Signals that end a program, which should leave nothing behind then."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def handled(end: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have ``end`` called at SIGTERM and SIGHUP during the block. What is ignored stays so, as with nohup(1). For the
    main thread."""
    before = {signum: signal.getsignal(signum) for signum in ENDING}
    for signum in (signum for signum, how in before.items() if how is not signal.SIG_IGN):
        signal.signal(signum, end)
    try:
        yield
    finally:
        for signum, how in before.items():
            signal.signal(signum, how)


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Take SIGTERM and SIGHUP for a ``SystemExit`` during the block, once, as :func:`handled` does."""

    def end(number: int, _frame: FrameType | None) -> None:
        for signum in ENDING:
            signal.signal(signum, signal.SIG_IGN)
        raise SystemExit(128 + number)

    with handled(end):
        yield
