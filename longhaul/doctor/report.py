"""What was found: as text of a hundred columns, as JSON, and as an exit code."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from longhaul.doctor.checks import ASKING
from longhaul.doctor.finding import Finding, Level
from longhaul.exits import Exit

WIDTH = 100
SHOWN = 6
"""Places of one finding that the text names."""

TITLES = {
    Level.PROBLEM: "Problems: `longhaul up` fails, or makes what does not work",
    Level.WARNING: "Warnings: `longhaul up` works, but look at these",
    Level.UNKNOWN: "Unknown: could not be asked",
    Level.OK: "Well, and good to know",
}


def to_text(environment: str, findings: Sequence[Finding]) -> str:
    """The worst first; what is well takes a line each."""
    parts = [_summary(environment, findings)]
    for level, title in TITLES.items():
        chosen = [finding for finding in findings if finding.level is level]
        if chosen:
            parts.append("\n".join((title, *(line for finding in chosen for line in _lines(finding)))))
    return "\n\n".join(parts)


def to_json(environment: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """All of it, with every place."""
    return {
        "environment": environment,
        "exit_code": int(exit_code(findings)),
        "counts": _counts(findings),
        "findings": [
            {
                "check": finding.check,
                "level": str(finding.level),
                "what": finding.what,
                "where": list(finding.where),
                "do": finding.do,
            }
            for finding in findings
        ],
    }


def exit_code(findings: Sequence[Finding]) -> Exit:
    """1 with problems, 3 when nothing that was to be asked was answered, otherwise 0."""
    if any(finding.level is Level.PROBLEM for finding in findings):
        return Exit.FAILED
    asked = [finding for finding in findings if finding.check in ASKING]
    if asked and all(finding.level is Level.UNKNOWN for finding in asked):
        return Exit.UNREACHABLE
    return Exit.OK


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(finding.level for finding in findings)
    return {str(level): counts[level] for level in Level}


def _summary(environment: str, findings: Sequence[Finding]) -> str:
    counts = _counts(findings)
    problems, warnings = counts[Level.PROBLEM], counts[Level.WARNING]
    return (
        f"{environment}: {problems or 'no'} problem{'' if problems == 1 else 's'}, "
        f"{warnings or 'no'} warning{'' if warnings == 1 else 's'}, "
        f"{counts[Level.UNKNOWN]} unknown, {counts[Level.OK]} well"
    )


def _lines(finding: Finding) -> Iterator[str]:
    yield from _wrapped(f"{finding.check}: {finding.what}", "  ", further="    ")
    if finding.level is Level.OK:
        return
    if finding.where:
        yield from _wrapped(f"where: {_places(finding.where)}", "    ", further=" " * 11)
    if finding.do:
        yield from _wrapped(f"do:    {finding.do}", "    ", further=" " * 11)


def _places(where: Sequence[str]) -> str:
    """Keys, a file said once."""
    shown = list(where[:SHOWN])
    files = {place.rpartition(" in ")[2] for place in shown}
    if len(files) == 1 and len(shown) > 1 and all(" in " in place for place in shown):
        text = f"{', '.join(place.rpartition(' in ')[0] for place in shown)} in {files.pop()}"
    else:
        text = ", ".join(shown)
    return text if len(where) <= SHOWN else f"{text}, and {len(where) - SHOWN} more"


def _wrapped(text: str, first: str, *, further: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_on_hyphens=False,
        break_long_words=False,
    )
