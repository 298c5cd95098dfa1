"""Memory of written lines. Most lines are the same in each pass, and are written only at intervals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

AGAIN_S = 600.0
"""Time after which the same line is written again, seconds."""
_TIMES = re.compile(r"\b\d+ (s|min)\b")
"""Durations in a line, which differ in each pass."""


class RepeatedLines:
    """The last line about each subject, and the time at which it was written."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_lines: dict[str, tuple[str, float]] = {}

    def is_new(self, about: str, words: str) -> bool:
        """Return whether a line about a subject is new, or old enough to be written again. Record such a line as
        written."""
        now, words = self._clock(), without_durations(words)
        before, at = self._last_lines.get(about, ("", 0.0))
        if before == words and now - at < AGAIN_S:
            return False
        self._last_lines[about] = (words, now)
        return True

    def forget(self) -> None:
        """Forget lines that are old enough to be written again, so that the memory stays small."""
        now = self._clock()
        self._last_lines = {about: entry for about, entry in self._last_lines.items() if now - entry[1] < AGAIN_S}


def without_durations(words: str) -> str:
    """Return a line without its durations."""
    return _TIMES.sub("a while", words)
