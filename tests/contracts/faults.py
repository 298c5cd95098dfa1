"""What a check finds wrong with an input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHOWN = 80
"""Characters of a value that a message shows."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One input that a cloud would refuse."""

    resource: str
    """Type and name."""
    at: str
    """The property, from the resource on."""
    value: Any
    allowed: str
    """What may stand there."""
    source: str
    """Whose word that is."""

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… ({len(shown)} characters)"
        return f"{self.resource}: {self.at} is {shown}; {self.allowed} ({self.source})"
