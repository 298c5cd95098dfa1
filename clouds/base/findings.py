"""Findings: what is said of an environment by whoever looks at it, be it a check of a cloud, a policy or a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How grave something is, the least first."""

    OK = "ok"
    UNKNOWN = "unknown"
    """It could not be asked."""
    WARNING = "warning"
    """It works, and somebody should know."""
    PROBLEM = "problem"
    """It would fail, must not be, or would make what does not work."""

    @property
    def weight(self) -> int:
        """A number to sort by; words would sort by the alphabet."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer, or one reason."""

    severity: Severity
    what: str
    """In one sentence; never a secret."""
    where: tuple[str, ...] = ()
    """Keys with their file, names of resources, or what else it is about."""
    why: str = ""
    """A reason that holds wherever the same is found, and where it comes from."""
    do: str = ""
    """What to do, or to write instead."""
    lines: tuple[str, ...] = ()
    """What it is about in full, where a sentence does not hold it: keys of a file, security rules."""
    check: str = ""
    """Name of the check or rule that found it."""


class NotAskedError(Exception):
    """The question has no answer; the message says why, ``do`` what would help."""

    def __init__(self, why: str, *, do: str = "") -> None:
        super().__init__(why)
        self.do = do


class RefusedError(NotAskedError):
    """These credentials may not ask."""


def problem(what: str, *where: str, do: str) -> Finding:
    """Something that has to change first."""
    return Finding(severity=Severity.PROBLEM, what=what, where=where, do=do)


def warning(what: str, *where: str, do: str) -> Finding:
    """Something to know, or to change later."""
    return Finding(severity=Severity.WARNING, what=what, where=where, do=do)


def unknown(what: str, *where: str, do: str = "") -> Finding:
    """Something that nobody answered."""
    return Finding(severity=Severity.UNKNOWN, what=what, where=where, do=do)


def ok(what: str, *where: str) -> Finding:
    """Something that is as it should be."""
    return Finding(severity=Severity.OK, what=what, where=where)


def gravest(findings: Iterable[Finding]) -> Severity:
    """The worst of all; well when there are none."""
    return max((finding.severity for finding in findings), key=lambda severity: severity.weight, default=Severity.OK)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first, else as they came."""
    return tuple(sorted(findings, key=lambda finding: -finding.severity.weight))


def folded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first; those that say the same of several places become one."""
    merged: dict[Finding, tuple[str, ...]] = {}
    for finding in findings:
        said = replace(finding, where=())
        merged[said] = tuple(dict.fromkeys((*merged.get(said, ()), *finding.where)))
    return in_order(replace(said, where=where) for said, where in merged.items())
