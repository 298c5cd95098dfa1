"""Remembers lines that were written: each pass finds the same again, and writes it only at intervals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

AGAIN_S = 600.0
"""Time after which the same line is written again, seconds."""
_TIMES = re.compile(r"\b\d+ (s|min)\b")
"""Durations in a line, which differ at each look."""


class RepeatedLines:
    """Lines that were written, by subject, and when."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_lines: dict[str, tuple[str, float]] = {}

    def is_new(self, about: str, words: str) -> bool:
        """Return whether this line was not written about this subject lately, and record it as written."""
        now, words = self._clock(), without_durations(words)
        before, at = self._last_lines.get(about, ("", 0.0))
        if before == words and now - at < AGAIN_S:
            return False
        self._last_lines[about] = (words, now)
        return True

    def forget(self) -> None:
        """Forget lines that may be written again, so that the memory is limited to the lines of that time."""
        now = self._clock()
        self._last_lines = {about: entry for about, entry in self._last_lines.items() if now - entry[1] < AGAIN_S}


def without_durations(words: str) -> str:
    """Return a line without its durations."""
    return _TIMES.sub("a while", words)
