"""Outcomes of a review, one for each environment, and the exit code that follows from them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from clouds.base.findings import Severity
from longhaul.terminal.exits import Exit


class ReviewOutcome(StrEnum):
    """Outcome of a review for one environment. The best comes first."""

    SAFE = "safe"
    NEW = "new"
    AS_DECLARED = "as declared"
    ABSENT = "not made"
    VALID = "valid, not planned"
    CARE = "needs care"
    CODE = "changes code"
    DELETED = "file deleted"
    DIFFERS = "differs"
    FAILED = "no plan"
    INVALID = "invalid"
    REFUSED = "refused"

    @property
    def severity(self) -> Severity:
        """Return the severity of the outcome."""
        return _SEVERITIES[self]


_SEVERITIES = {
    **dict.fromkeys((ReviewOutcome.SAFE, ReviewOutcome.NEW, ReviewOutcome.AS_DECLARED), Severity.OK),
    **dict.fromkeys((ReviewOutcome.ABSENT, ReviewOutcome.VALID), Severity.UNKNOWN),
    **dict.fromkeys(
        (ReviewOutcome.CARE, ReviewOutcome.CODE, ReviewOutcome.DELETED, ReviewOutcome.DIFFERS), Severity.WARNING
    ),
    **dict.fromkeys((ReviewOutcome.FAILED, ReviewOutcome.INVALID, ReviewOutcome.REFUSED), Severity.PROBLEM),
}

_STOPS = {
    ReviewOutcome.REFUSED: Exit.REFUSED,
    ReviewOutcome.INVALID: Exit.REFUSED,
    ReviewOutcome.FAILED: Exit.FAILED,
    ReviewOutcome.DIFFERS: Exit.FAILED,
}


class _ReviewPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EnvironmentReview(_ReviewPart):
    """Review of one environment."""

    name: str
    outcome: ReviewOutcome
    reason: str
    """Reason for the outcome, in one line."""
    report: str = ""
    """Problems that validation found, a line each, or the output of a plan that failed."""
    plan: str = ""
    """The plan, in Markdown."""


class Review(_ReviewPart):
    """Result of one run. A run writes its result as JSON, and a later run can read it."""

    base: str
    """Words for the base of the comparison: a ref, or the declared state."""
    commit: str
    """Commit that was reviewed."""
    fork: bool = False
    """True when the change comes from a fork. A fork gets no credentials, so no plan is made."""
    drift: bool = False
    """True when the review compares the declared state with the clouds. Otherwise it compares a change with its
    base."""
    code: tuple[str, ...] = ()
    """Changed files that run in plans of all environments, or decide about them."""
    environments: tuple[EnvironmentReview, ...] = ()
    """The gravest first, then by name."""

    @property
    def worst(self) -> ReviewOutcome | None:
        """Return the gravest outcome; None when no environment is affected."""
        return self.environments[0].outcome if self.environments else None

    @property
    def plannable(self) -> list[str]:
        """Return the names of the environments that can be planned."""
        return sorted(entry.name for entry in self.environments if entry.outcome is ReviewOutcome.VALID)

    @property
    def exit_code(self) -> int:
        """Return 4 when a plan is refused or a file is invalid. Otherwise return 1 when a plan could not be made, when
        a fork's change affects an environment, for which no plan is made, or when a cloud differs from the declared
        state. Otherwise return 0."""
        codes = [_STOPS[entry.outcome] for entry in self.environments if entry.outcome in _STOPS]
        codes += [Exit.FAILED] if self.fork and self.environments else []
        return Exit.REFUSED if Exit.REFUSED in codes else max(codes, default=0)


def in_order(entries: list[EnvironmentReview]) -> tuple[EnvironmentReview, ...]:
    """Sort the entries: the gravest first, then by name."""
    weights = tuple(ReviewOutcome)
    return tuple(sorted(entries, key=lambda entry: (-weights.index(entry.outcome), entry.name)))


def merge(reviews: list[Review]) -> Review:
    """Merge several reviews of the same change into one. For each environment, a plan has priority over a successful
    validation. If an environment should have been planned but was not, its outcome is ``FAILED``. Environments of a
    fork are not planned."""
    first = reviews[0]
    by_name: dict[str, EnvironmentReview] = {}
    for entry in (entry for review in reviews for entry in review.environments):
        known = by_name.get(entry.name)
        if known is None or known.outcome is ReviewOutcome.VALID:
            by_name[entry.name] = entry
    entries = [entry if first.fork else _unplanned(entry) for entry in by_name.values()]
    return first.model_copy(update={"environments": in_order(entries)})


def _unplanned(entry: EnvironmentReview) -> EnvironmentReview:
    if entry.outcome is not ReviewOutcome.VALID:
        return entry
    message = "its plan never arrived: the log of its job says why"
    return entry.model_copy(update={"outcome": ReviewOutcome.FAILED, "reason": message})
