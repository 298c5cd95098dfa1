"""What is said about a plan: a verdict, and what each part of it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How much a plan asks of its reviewer, the least first."""

    SAFE = "safe"
    CARE = "needs care"
    REFUSED = "refused"


_WEIGHT = {verdict: weight for weight, verdict in enumerate(Verdict)}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One reason, of a plan's own rules or of a policy."""

    level: Verdict
    what: str
    """What happens, in one sentence."""
    where: tuple[str, ...]
    """Names of the resources that it happens to, sorted."""
    why: str
    """What it interrupts or loses, and where a number of it comes from."""
    do: str
    """What to do, or to do instead."""
    lines: tuple[str, ...] = ()
    """What it is about in full, where a sentence does not hold it: keys of a file, security rules."""


def verdict(findings: Iterable[Finding]) -> Verdict:
    """The gravest of all; safe when there are none."""
    return max((finding.level for finding in findings), key=_WEIGHT.__getitem__, default=Verdict.SAFE)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first, else as they came."""
    return tuple(sorted(findings, key=lambda finding: -_WEIGHT[finding.level]))


def names(where: Iterable[str], *, most: int = 3) -> str:
    """A few names, and how many more there are."""
    listed = list(where)
    shown, rest = listed[:most], len(listed) - most
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def count(number: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
