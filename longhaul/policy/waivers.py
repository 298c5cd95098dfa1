"""Waivers: exceptions that somebody wrote into the environment file, for a reason, until a day, with another's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from clouds.base.findings import Finding, Severity
from components.model.waivers import Waiver

if TYPE_CHECKING:
    from longhaul.policy.rule import Rule

EXPIRED, UNUSED, REFUSED = "waiver-expired", "waiver-unused", "waiver-refused"

WHY: Mapping[str, str] = {
    EXPIRED: "A waiver ends on its day: what was meant to be passing is to be mended or agreed on anew.",
    UNUSED: "A waiver that matches nothing would silently admit the next resource of that name.",
    REFUSED: "A waiver is for one rule that there is, and some rules have no exception.",
}
"""What a finding about a waiver says, by its rule."""


@dataclass(frozen=True, kw_only=True)
class Waived:
    """A finding that a waiver admits."""

    finding: Finding
    waiver: Waiver


def covers(waiver: Waiver, finding: Finding) -> bool:
    """Whether it is about the rule and the resource of ``finding``, whatever the day."""
    return waiver.rule == finding.check and fnmatchcase(name_of(finding), waiver.resource)


def name_of(finding: Finding) -> str:
    """The name of the resource that a policy's finding is about: it has its URN alone, or which waiver it is."""
    return finding.where[0].rpartition("::")[2]


def by_resource(found: Iterable[Finding]) -> list[Finding]:
    """In the order of their URNs, then of the rules."""
    return sorted(found, key=lambda one: (one.where, one.check, one.what, one.why, one.do))


def apply(
    found: Iterable[Finding], waivers: Sequence[Waiver], *, rules: Sequence[Rule], today: date
) -> tuple[list[Finding], list[Waived]]:
    """What stands, findings about the waivers themselves among it, and what is waived; both sorted."""
    refused = {index: reason for index, one in enumerate(waivers) if (reason := _refusal(one, rules))}
    used: set[int] = set()
    stands: list[Finding] = []
    waived: list[Waived] = []
    for finding in by_resource(found):
        matching = [index for index, one in enumerate(waivers) if index not in refused and covers(one, finding)]
        used.update(matching)
        live = next((waivers[index] for index in matching if waivers[index].until >= today), None)
        if live is None:
            stands.append(finding)
        else:
            waived.append(Waived(finding=finding, waiver=live))
    for index, rule, what, write in _about(waivers, refused=refused, used=used, today=today):
        at = (f"waivers[{index}]",)
        stands.append(Finding(severity=Severity.PROBLEM, what=what, where=at, why=WHY[rule], do=write, check=rule))
    return by_resource(stands), waived


def _refusal(waiver: Waiver, rules: Sequence[Rule]) -> str:
    """Why it cannot stand; empty when it can."""
    rule = next((one for one in rules if one.id == waiver.rule), None)
    if rule is None:
        return f"there is no rule {waiver.rule!r}"
    if not rule.waivable:
        return f"{waiver.rule} cannot be waived"
    return ""


def _about(
    waivers: Sequence[Waiver], *, refused: Mapping[int, str], used: set[int], today: date
) -> Iterator[tuple[int, str, str, str]]:
    for index, waiver in enumerate(waivers):
        if index in refused:
            yield index, REFUSED, refused[index], "the id of a rule in docs/policy.md that can be waived"
        elif index not in used:
            what = f"{waiver.rule} for {waiver.resource} matches nothing"
            yield index, UNUSED, what, "nothing: take the waiver out"
        elif waiver.until < today:
            what = f"{waiver.rule} for {waiver.resource} ended on {waiver.until}"
            yield index, EXPIRED, what, "what the rule wants, or a new day that somebody approves"
