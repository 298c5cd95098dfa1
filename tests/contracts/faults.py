"""Faults that a check finds in an input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHOWN = 80
"""Maximum number of characters of a value that a message shows."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One input that a cloud would refuse."""

    resource: str
    """Type and name."""
    at: str
    """Path of the property in the resource."""
    value: Any
    allowed: str
    """Values that are allowed there, in words."""
    source: str
    """Source of that rule."""

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… ({len(shown)} characters)"
        return f"{self.resource}: {self.at} is {shown}; {self.allowed} ({self.source})"
