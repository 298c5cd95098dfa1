"""What came of a step or a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """How it ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    """The environment has nothing that it could show, or nobody asked for it."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One step or check, done."""

    name: str
    shows: str
    """What is true when it passes, in a sentence."""
    result: Result
    seconds: float
    evidence: str
    """What was seen; where it failed, what was seen instead."""

    def __str__(self) -> str:
        return f"{self.name}: {self.result} after {self.seconds:.0f} s: {self.evidence}"
