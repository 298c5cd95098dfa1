"""Limits that a cloud's model gives in words alone: they are written here once more, next to the words.

A test looks the words up in what is installed, so that a newer model that says otherwise is noticed.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a value has to be, beyond its type."""

    words: str
    """As the model's documentation has them."""
    low: float | None = None
    high: float | None = None
    longest: int | None = None
    """Characters."""
    pattern: str | None = None
    """Of the whole text."""
    choices: tuple[Any, ...] = ()
    decoded: int | None = None
    """Bytes of what is in base64."""

    def allows(self, value: Any) -> bool:
        """Whether ``value`` keeps to it; a list does when all of its elements do."""
        if isinstance(value, list):
            return all(map(self.allows, value))
        return not (
            (self.low is not None and float(value) < self.low)
            or (self.high is not None and float(value) > self.high)
            or (self.longest is not None and len(str(value)) > self.longest)
            or (self.pattern is not None and not re.fullmatch(self.pattern, str(value)))
            or (self.choices and value not in self.choices)
            or (self.decoded is not None and len(base64.b64decode(value)) > self.decoded)
        )


def between(low: float, high: float | None, words: str) -> Limit:
    """A number from ``low`` to ``high``, both included."""
    return Limit(words=words, low=low, high=high)


def one_of(words: str, *choices: Any) -> Limit:
    """One of ``choices``, or a list of some."""
    return Limit(words=words, choices=choices)
