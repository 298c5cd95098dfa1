"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Level(StrEnum):
    """How bad it is, the worst first."""

    PROBLEM = "problem"
    """`longhaul up` would fail, or what it makes would not work."""
    WARNING = "warning"
    """`up` works, and somebody should know."""
    UNKNOWN = "unknown"
    """It could not be asked."""
    OK = "ok"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer."""

    level: Level
    what: str
    where: tuple[str, ...] = ()
    """Keys with their file, or what else it is about."""
    do: str = ""
    check: str = ""
    """Name of the check; whoever runs it writes it in."""


class NotAskedError(Exception):
    """The question has no answer; the message says why, ``do`` what would help."""

    def __init__(self, why: str, *, do: str = "") -> None:
        super().__init__(why)
        self.do = do


class RefusedError(NotAskedError):
    """These credentials may not ask."""


def problem(what: str, *where: str, do: str) -> Finding:
    """Something that has to change first."""
    return Finding(level=Level.PROBLEM, what=what, where=where, do=do)


def warning(what: str, *where: str, do: str) -> Finding:
    """Something to know, or to change later."""
    return Finding(level=Level.WARNING, what=what, where=where, do=do)


def unknown(what: str, *where: str, do: str = "") -> Finding:
    """Something that nobody answered."""
    return Finding(level=Level.UNKNOWN, what=what, where=where, do=do)


def ok(what: str, *where: str) -> Finding:
    """Something that is as it should be."""
    return Finding(level=Level.OK, what=what, where=where)


def folded(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The worst first, otherwise in their order; those that say the same of several places become one."""
    merged: dict[tuple[str, ...], Finding] = {}
    for finding in findings:
        key = (finding.check, finding.level, finding.what, finding.do)
        known = merged.get(key)
        where = finding.where if known is None else tuple(dict.fromkeys((*known.where, *finding.where)))
        merged[key] = replace(finding, where=where)
    order = list(Level)
    return tuple(sorted(merged.values(), key=lambda finding: order.index(finding.level)))
