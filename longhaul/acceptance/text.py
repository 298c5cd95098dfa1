"""The report of a run: as text with a line for each result, as Markdown, and as an object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from longhaul.acceptance.outcome import AcceptanceReport, Stay, StepOutcome, StepResult
from longhaul.report.text import table

MARKS = {StepResult.PASSED: "ok", StepResult.FAILED: "FAILED", StepResult.NOT_APPLICABLE: "-"}
"""Marks of the results in the text."""


def to_text(report: AcceptanceReport) -> str:
    """Return the report as text: a line for each step and check, then a summary."""
    lines = table((), map(_cells, report.outcomes), width=None)
    parts = [_title(report)]
    for title, rows in (("Steps", lines[: len(report.steps)]), ("Checks", lines[len(report.steps) :])):
        if rows:
            parts.append("\n".join((title, *rows)))
    return "\n\n".join((*parts, f"{_summary(report)}\nOutput of its steps: {report.log}"))


def to_markdown(report: AcceptanceReport) -> str:
    """Return the report as Markdown, with what each check shows."""
    head = ("| | Shows | Result | Seconds | Evidence |", "|---|---|---|---:|---|")
    parts = [f"# {_title(report)}", _summary(report)]
    begun = report.begun.isoformat(timespec="seconds")
    parts.append("\n".join((f"- Begun: {begun}", f"- Terms: {report.budget}", f"- Log: `{report.log}`")))
    for title, outcomes in (("Steps", report.steps), ("Checks", report.checks)):
        if outcomes:
            parts += [f"## {title}", "\n".join((*head, *map(_row, outcomes)))]
    return "\n\n".join(parts) + "\n"


def to_json(report: AcceptanceReport) -> dict[str, Any]:
    """Return the whole report as plain values."""
    return {
        "environment": report.environment,
        "accepted": report.accepted,
        "exit_code": int(report.exit_code()),
        "made": report.made,
        "stays": str(report.stays),
        "interrupted": report.interrupted,
        "begun": report.begun.isoformat(timespec="seconds"),
        "seconds": round(report.seconds, 1),
        "terms": report.budget,
        "log": report.log,
        "steps": _listed(report.steps),
        "checks": _listed(report.checks),
    }


def _title(report: AcceptanceReport) -> str:
    if report.stays is Stay.ALL:
        how = "checked as it was"
    elif report.stays is Stay.NOTHING:
        how = "not made"
    else:
        looked = "looked at" if report.checks else "not looked at"
        how = f"{looked}, {'taken down' if report.stays is Stay.NONE else 'not all taken down'}"
    return f"Acceptance of {report.environment}: {how}"


def _summary(report: AcceptanceReport) -> str:
    counts = Counter(outcome.result for outcome in report.outcomes)
    phrases = ", ".join(f"{counts[result]} {result}" for result in StepResult)
    verdict = "interrupted" if report.interrupted else "accepted" if report.accepted else "not accepted"
    return f"{report.environment}: {verdict} after {report.seconds:.0f} s ({phrases}); {report.stays}"


def _cells(outcome: StepOutcome) -> tuple[str, ...]:
    return f"{MARKS[outcome.result]:<6}", outcome.name, f"{outcome.seconds:>5.0f} s", outcome.evidence


def _row(outcome: StepOutcome) -> str:
    evidence = outcome.evidence.replace("|", "\\|").replace("\n", "<br>")
    return f"| {outcome.name} | {outcome.shows} | {outcome.result} | {outcome.seconds:.0f} | {evidence} |"


def _listed(outcomes: Sequence[StepOutcome]) -> list[dict[str, Any]]:
    return [
        {**asdict(outcome), "result": str(outcome.result), "seconds": round(outcome.seconds, 1)} for outcome in outcomes
    ]
