"""What a run found: as text of a line each, as Markdown, as JSON, and as an exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from longhaul.acceptance.outcome import Outcome, Result
from longhaul.exits import Exit

MARKS = {Result.PASSED: "ok", Result.FAILED: "FAILED", Result.NOT_APPLICABLE: "-"}
"""In the text."""


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


def to_text(report: Report) -> str:
    """Steps and checks, a line each, and one that sums up."""
    width = max((len(one.name) for one in report.outcomes), default=0)
    parts = [_title(report)]
    for title, outcomes in (("Steps", report.steps), ("Checks", report.checks)):
        if outcomes:
            parts.append("\n".join((title, *(_line(one, width) for one in outcomes))))
    parts += [report.note] if report.note else []
    return "\n\n".join((*parts, f"{_summary(report)}\nWhat its steps said: {report.log}"))


def to_markdown(report: Report) -> str:
    """The same for people who read it later, with what each check shows."""
    head = ("| | Shows | Result | Seconds | Evidence |", "|---|---|---|---:|---|")
    parts = [f"# {_title(report)}", _summary(report)]
    parts += [report.note] if report.note else []
    begun = report.begun.isoformat(timespec="seconds")
    parts.append("\n".join((f"- Begun: {begun}", f"- Terms: {report.terms}", f"- Log: `{report.log}`")))
    for title, outcomes in (("Steps", report.steps), ("Checks", report.checks)):
        if outcomes:
            parts += [f"## {title}", "\n".join((*head, *map(_row, outcomes)))]
    return "\n\n".join(parts) + "\n"


def to_json(report: Report) -> dict[str, Any]:
    """All of it."""
    return {
        "environment": report.environment,
        "accepted": report.accepted,
        "exit_code": int(report.exit_code()),
        "made": report.made,
        "stays": str(report.stays),
        "interrupted": report.interrupted,
        "begun": report.begun.isoformat(timespec="seconds"),
        "seconds": round(report.seconds, 1),
        "terms": report.terms,
        "log": report.log,
        "note": report.note,
        "steps": _listed(report.steps),
        "checks": _listed(report.checks),
    }


def _title(report: Report) -> str:
    if report.stays is Stay.ALL:
        how = "looked at as it was"
    elif report.stays is Stay.NOTHING:
        how = "not made"
    else:
        looked = "looked at" if report.checks else "not looked at"
        how = f"{looked}, {'taken down' if report.stays is Stay.NONE else 'not all taken down'}"
    return f"Acceptance of {report.environment}: {how}"


def _summary(report: Report) -> str:
    counts = Counter(one.result for one in report.outcomes)
    said = ", ".join(f"{counts[result]} {result}" for result in Result)
    verdict = "interrupted" if report.interrupted else "accepted" if report.accepted else "not accepted"
    return f"{report.environment}: {verdict} after {report.seconds:.0f} s ({said}); {report.stays}"


def _line(one: Outcome, width: int) -> str:
    return f"  {MARKS[one.result]:<6}  {one.name:<{width}}  {one.seconds:>5.0f} s  {one.evidence}"


def _row(one: Outcome) -> str:
    evidence = one.evidence.replace("|", "\\|").replace("\n", "<br>")
    return f"| {one.name} | {one.shows} | {one.result} | {one.seconds:.0f} | {evidence} |"


def _listed(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [{**asdict(one), "result": str(one.result), "seconds": round(one.seconds, 1)} for one in outcomes]
