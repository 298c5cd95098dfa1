"""Limits that a cloud's model gives only in words. Each is repeated here as data, next to the words.

A test looks the words up in what is installed, so that a newer model with other words is noticed.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Limits of a value, beyond its type."""

    words: str
    """Words of the model's documentation."""
    low: float | None = None
    high: float | None = None
    longest: int | None = None
    """Maximum number of characters."""
    pattern: str | None = None
    """Regular expression for the whole text."""
    choices: tuple[Any, ...] = ()
    decoded: int | None = None
    """Maximum number of bytes after decoding from base64."""

    def allows(self, value: Any) -> bool:
        """Return whether ``value`` is within the limits; for a list, whether all of its elements are."""
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
    """Return the limit of a number from ``low`` to ``high``, both included."""
    return Limit(words=words, low=low, high=high)


def one_of(words: str, *choices: Any) -> Limit:
    """Return the limit of one of ``choices``, or of a list of some."""
    return Limit(words=words, choices=choices)
