"""What was found out about each environment, and what that means for whoever merges."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from clouds.base.findings import Severity
from longhaul.exits import Exit


class Outcome(StrEnum):
    """What a review says of one environment, the best first."""

    SAFE = "safe"
    AS_DECLARED = "as declared"
    ABSENT = "not made"
    VALID = "valid, not planned"
    CARE = "needs care"
    DELETED = "file deleted"
    DIFFERS = "differs"
    FAILED = "no plan"
    INVALID = "invalid"
    REFUSED = "refused"

    @property
    def severity(self) -> Severity:
        """How grave that is."""
        return _SEVERITIES[self]


_SEVERITIES = {
    **dict.fromkeys((Outcome.SAFE, Outcome.AS_DECLARED), Severity.OK),
    **dict.fromkeys((Outcome.ABSENT, Outcome.VALID), Severity.UNKNOWN),
    **dict.fromkeys((Outcome.CARE, Outcome.DELETED, Outcome.DIFFERS), Severity.WARNING),
    **dict.fromkeys((Outcome.FAILED, Outcome.INVALID, Outcome.REFUSED), Severity.PROBLEM),
}

_STOPS = {
    Outcome.REFUSED: Exit.REFUSED,
    Outcome.INVALID: Exit.REFUSED,
    Outcome.FAILED: Exit.FAILED,
    Outcome.DIFFERS: Exit.FAILED,
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Part):
    """One environment."""

    name: str
    outcome: Outcome
    said: str
    """Why, in a line."""
    report: str = ""
    """What is wrong, line by line: a validation's problems, or what a plan that failed said."""
    plan: str = ""
    """The plan, in Markdown."""


class Review(_Part):
    """Everything that one run found out; what one run wrote as JSON, a later one reads."""

    base: str
    """What it was compared with, for people: a ref, or what is declared."""
    commit: str
    """What was looked at."""
    fork: bool = False
    """Whether the change comes from a fork, whose plan nobody's credentials are lent to."""
    drift: bool = False
    """Whether this compares what is declared with the clouds, instead of a change with its base."""
    environments: tuple[Entry, ...] = ()
    """The gravest first, then by name."""

    @property
    def worst(self) -> Outcome | None:
        """The gravest outcome; None when no environment is affected."""
        return self.environments[0].outcome if self.environments else None

    @property
    def plannable(self) -> list[str]:
        """Names of the environments that a plan could be made of."""
        return sorted(entry.name for entry in self.environments if entry.outcome is Outcome.VALID)

    @property
    def exit_code(self) -> int:
        """0; 4 when a plan is refused or a file invalid; 1 when a plan could not be made, or a cloud differs."""
        codes = [_STOPS[entry.outcome] for entry in self.environments if entry.outcome in _STOPS]
        return Exit.REFUSED if Exit.REFUSED in codes else max(codes, default=0)


def in_order(entries: list[Entry]) -> tuple[Entry, ...]:
    """The gravest first, then by name."""
    weights = tuple(Outcome)
    return tuple(sorted(entries, key=lambda entry: (-weights.index(entry.outcome), entry.name)))


def merged(reviews: list[Review]) -> Review:
    """One review of several of the same change: of each environment, what was planned counts more than that it is
    valid. One that was to be planned and never was has no plan; a fork's are not meant to be."""
    first = reviews[0]
    by_name: dict[str, Entry] = {}
    for entry in (entry for review in reviews for entry in review.environments):
        known = by_name.get(entry.name)
        if known is None or known.outcome is Outcome.VALID:
            by_name[entry.name] = entry
    entries = [entry if first.fork else _unplanned(entry) for entry in by_name.values()]
    return first.model_copy(update={"environments": in_order(entries)})


def _unplanned(entry: Entry) -> Entry:
    if entry.outcome is not Outcome.VALID:
        return entry
    said = "its plan never arrived: the log of the job that was to make it says why"
    return entry.model_copy(update={"outcome": Outcome.FAILED, "said": said})
