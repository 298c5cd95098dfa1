"""What came of a step, of a check, and of a whole run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from longhaul.exits import Exit


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


class Stay(StrEnum):
    """What there is of the environment once the run has ended, in words."""

    NOTHING = "nothing was made"
    NONE = "what was made is taken down"
    PART = "not all of it is down: run the same again, which goes on with taking down"
    ALL = "it stays"
    """As it was: the run was told to leave it."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One run."""

    environment: str
    stays: Stay
    begun: datetime
    seconds: float
    terms: str
    """What it was allowed, and what it was to take at the most."""
    log: str
    """Path of what its steps said."""
    steps: tuple[Outcome, ...] = ()
    """In their order, the taking down last."""
    checks: tuple[Outcome, ...] = ()
    interrupted: bool = False
    note: str = ""
    """What else has to be said."""

    @property
    def made(self) -> bool:
        """Whether there was something to take down."""
        return self.stays in (Stay.NONE, Stay.PART)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Steps and checks."""
        return (*self.steps, *self.checks)

    @property
    def accepted(self) -> bool:
        """Whether something was looked at, and nothing failed."""
        passed = any(one.result is Result.PASSED for one in self.checks)
        return passed and not self.interrupted and all(one.result is not Result.FAILED for one in self.outcomes)

    def exit_code(self) -> Exit:
        """Of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        return Exit.OK if self.accepted else Exit.FAILED
