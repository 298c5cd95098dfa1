"""Findings: messages about an environment, from a cloud's check, a policy or a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar


class Severity(StrEnum):
    """Severity of a finding, the lowest first."""

    OK = "ok"
    UNKNOWN = "unknown"
    """The question could not be answered."""
    WARNING = "warning"
    """The setting or resource works, but the user should know about the finding."""
    PROBLEM = "problem"
    """The setting or resource would fail, is not allowed, or would produce something that does not work."""

    @property
    def weight(self) -> int:
        """Return a number for sorting, because the words would sort alphabetically."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One message of a check: an answer, or a reason."""

    severity: Severity
    what: str
    """The message, in one sentence. It never contains a secret."""
    where: tuple[str, ...] = ()
    """Keys with their file, names of resources, or other places that the finding is about."""
    why: str = ""
    """Reason, with its source; the same for all findings of one kind."""
    do: str = ""
    """Advice: what to do, or what to write instead."""
    lines: tuple[str, ...] = ()
    """Full content that is too long for a sentence: keys of a file, security rules."""
    check: str = ""
    """Name of the check or rule that reported it."""


FindingT = TypeVar("FindingT", bound=Finding)


class NotAskedError(Exception):
    """Raised when a question has no answer. The message says why; ``do`` says what would help."""

    def __init__(self, why: str, *, do: str = "") -> None:
        super().__init__(why)
        self.do = do


class NotAllowedError(NotAskedError):
    """Raised when the credentials do not allow the request."""


def problem(what: str, *where: str, do: str) -> Finding:
    """Return a finding about something that must be changed first."""
    return Finding(severity=Severity.PROBLEM, what=what, where=where, do=do)


def warning(what: str, *where: str, do: str) -> Finding:
    """Return a finding that the user should know about, or change later."""
    return Finding(severity=Severity.WARNING, what=what, where=where, do=do)


def unknown(what: str, *where: str, do: str = "") -> Finding:
    """Return a finding about a question without an answer."""
    return Finding(severity=Severity.UNKNOWN, what=what, where=where, do=do)


def ok(what: str, *where: str) -> Finding:
    """Return a finding about something that is correct."""
    return Finding(severity=Severity.OK, what=what, where=where)


def gravest(findings: Iterable[Finding]) -> Severity:
    """Return the highest severity; ``OK`` when there are no findings."""
    return max((finding.severity for finding in findings), key=lambda severity: severity.weight, default=Severity.OK)


def in_order(findings: Iterable[FindingT]) -> tuple[FindingT, ...]:
    """Sort findings by severity, highest first; the order is otherwise kept."""
    return tuple(sorted(findings, key=lambda finding: -finding.severity.weight))


def folded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge findings that differ only in their places, and sort them by severity, highest first."""
    merged: dict[Finding, tuple[str, ...]] = {}
    for finding in findings:
        unplaced = replace(finding, where=())
        merged[unplaced] = tuple(dict.fromkeys((*merged.get(unplaced, ()), *finding.where)))
    return in_order(replace(unplaced, where=where) for unplaced, where in merged.items())
