"""Findings of the checks as text, as an object for programs, and as an exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from clouds.base.findings import Finding, Severity
from clouds.base.phrases import counted
from longhaul.doctor.checks import ASKING
from longhaul.report.text import wrapped
from longhaul.terminal.exits import Exit

SHOWN = 6
"""Maximum number of places that the text names for one finding."""

TITLES = {
    Severity.PROBLEM: "Problems: `longhaul up` fails, or makes something that does not work",
    Severity.WARNING: "Warnings: `longhaul up` works, but check these",
    Severity.UNKNOWN: "Unknown: could not be asked",
    Severity.OK: "Well, and good to know",
}
"""Titles by severity, the worst first."""


def to_text(environment: str, findings: Sequence[Finding]) -> str:
    """Return the findings as text, the worst first. A finding without a fault takes one line."""
    parts = [_summary(environment, findings)]
    for severity, title in TITLES.items():
        chosen = [finding for finding in findings if finding.severity is severity]
        if chosen:
            parts.append("\n".join((title, *(line for finding in chosen for line in _lines(finding)))))
    return "\n\n".join(parts)


def to_json(environment: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return all findings, with every place."""
    return {
        "environment": environment,
        "exit_code": int(exit_code(findings)),
        "counts": _counts(findings),
        "findings": [
            {
                "check": finding.check,
                "level": str(finding.severity),
                "what": finding.what,
                "where": list(finding.where),
                "do": finding.do,
            }
            for finding in findings
        ],
    }


def exit_code(findings: Sequence[Finding]) -> Exit:
    """Return 1 with problems, 3 when no check that asks the outside got an answer, otherwise 0."""
    if any(finding.severity is Severity.PROBLEM for finding in findings):
        return Exit.FAILED
    asked = [finding for finding in findings if finding.check in ASKING]
    if asked and all(finding.severity is Severity.UNKNOWN for finding in asked):
        return Exit.UNREACHABLE
    return Exit.OK


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(finding.severity for finding in findings)
    return {str(severity): counts[severity] for severity in TITLES}


def _summary(environment: str, findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    problems, warnings = counts[Severity.PROBLEM], counts[Severity.WARNING]
    return (
        f"{environment}: {counted(problems, 'problem', none='no')}, {counted(warnings, 'warning', none='no')}, "
        f"{counts[Severity.UNKNOWN]} unknown, {counts[Severity.OK]} well"
    )


def _lines(finding: Finding) -> Iterator[str]:
    yield from wrapped(f"{finding.check}: {finding.what}", indent="  ", hanging="    ")
    if finding.severity is Severity.OK:
        return
    if finding.where:
        yield from wrapped(f"where: {_places(finding.where)}", indent="    ", hanging=" " * 11)
    if finding.do:
        yield from wrapped(f"do:    {finding.do}", indent="    ", hanging=" " * 11)


def _places(where: Sequence[str]) -> str:
    """Return the keys; the file is named once when all keys share it."""
    shown = list(where[:SHOWN])
    files = {place.rpartition(" in ")[2] for place in shown}
    if len(files) == 1 and len(shown) > 1 and all(" in " in place for place in shown):
        text = f"{', '.join(place.rpartition(' in ')[0] for place in shown)} in {files.pop()}"
    else:
        text = ", ".join(shown)
    return text if len(where) <= SHOWN else f"{text}, and {len(where) - SHOWN} more"
