"""Results of a step, of a check, and of a whole run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from longhaul.terminal.exits import Exit


class StepResult(StrEnum):
    """Result of a step or check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    """The environment has nothing that the check could test, or the check was not asked for."""


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """One finished step or check."""

    name: str
    shows: str
    """Sentence that is true when the step passes."""
    result: StepResult
    seconds: float
    evidence: str
    """Observation; on failure, what was seen instead."""

    def __str__(self) -> str:
        return f"{self.name}: {self.result} after {self.seconds:.0f} s: {self.evidence}"


class Stay(StrEnum):
    """State of the environment after the run, in words."""

    NOTHING = "nothing was made"
    NONE = "what was made is taken down"
    PART = "not all of it is down: `longhaul destroy --remove` goes on"
    ALL = "it stays"
    """Left as it was: the run was told to leave it in place."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceReport:
    """One run."""

    environment: str
    stays: Stay
    begun: datetime
    seconds: float
    budget: str
    """Limits of the run, and its expected maximum of machines, time and cost."""
    log: str
    """Path of the log of its steps."""
    steps: tuple[StepOutcome, ...] = ()
    """In order; taking down comes last."""
    checks: tuple[StepOutcome, ...] = ()
    interrupted: bool = False

    @property
    def made(self) -> bool:
        """Return whether there was something to take down."""
        return self.stays in (Stay.NONE, Stay.PART)

    @property
    def outcomes(self) -> tuple[StepOutcome, ...]:
        """Return all steps and checks."""
        return (*self.steps, *self.checks)

    @property
    def accepted(self) -> bool:
        """Return whether at least one check passed, nothing failed, and the run was not interrupted."""
        passed = any(check.result is StepResult.PASSED for check in self.checks)
        return (
            passed
            and not self.interrupted
            and all(outcome.result is not StepResult.FAILED for outcome in self.outcomes)
        )

    def exit_code(self) -> Exit:
        """Return the exit code of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        return Exit.OK if self.accepted else Exit.FAILED
