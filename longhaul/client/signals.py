"""Signals that end a program after it has cleaned up."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def handling_signals(end: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call ``end`` at SIGTERM and SIGHUP during the block. Ignored signals stay ignored, as with nohup(1). Only the
    main thread may use this."""
    before = {signum: signal.getsignal(signum) for signum in ENDING}
    for signum in (signum for signum, how in before.items() if how is not signal.SIG_IGN):
        signal.signal(signum, end)
    try:
        yield
    finally:
        for signum, how in before.items():
            signal.signal(signum, how)


@contextmanager
def exiting_on_signals() -> Iterator[None]:
    """Turn the first SIGTERM or SIGHUP during the block into a ``SystemExit``, with :func:`handling_signals`."""

    def end(number: int, _frame: FrameType | None) -> None:
        for signum in ENDING:
            signal.signal(signum, signal.SIG_IGN)
        raise SystemExit(128 + number)

    with handling_signals(end):
        yield
