"""Remembers words that were said already: each pass finds the same again, and says it once in a while."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

AGAIN_S = 600.0
"""Time after which the same is said again, seconds."""
_TIMES = re.compile(r"\b\d+ (s|min)\b")
"""Times in words, which differ at each look."""


class Repeats:
    """Words that were said, of whom, and when."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, tuple[str, float]] = {}

    def is_new(self, about: str, words: str) -> bool:
        """Return whether this was not said of it lately, and take it as said."""
        now, words = self._clock(), unchanging(words)
        before, at = self._said.get(about, ("", 0.0))
        if before == words and now - at < AGAIN_S:
            return False
        self._said[about] = (words, now)
        return True

    def forget(self) -> None:
        """Forget what may be said again, so that what is kept is bounded by what was said in that time."""
        now = self._clock()
        self._said = {about: entry for about, entry in self._said.items() if now - entry[1] < AGAIN_S}


def unchanging(words: str) -> str:
    """Return words without the times in them."""
    return _TIMES.sub("a while", words)
