"""Policies: what an environment must never be, whoever changes its program, and the exceptions that its file makes.

Pure: resources and the environment in, findings out, the same for the same. A plan judges a preview's resources by
them, the program each resource that it is about to make or change (``components/policies.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from clouds.base import secrets
from clouds.base.findings import Finding, Severity
from clouds.base.policy import Check, Declared, Resource
from clouds.base.rules import RULES, THEMES
from clouds.registry import cloud_of, clouds
from components.model.environment import Environment
from components.model.places import place_of
from components.model.waivers import Waiver

PREVIEW_JUDGED = "LONGHAUL_PREVIEW_JUDGED"
"""Environment variable of whoever judges the engine's preview himself, as ``longhaul plan`` does: the program then does
not, whose hook takes milliseconds for each new resource. Before anything is made or changed, it always does."""

EXPIRED, UNUSED, REFUSED = "waiver-expired", "waiver-unused", "waiver-refused"

WHY: Mapping[str, str] = {
    EXPIRED: "A waiver ends on its day: what was meant to be passing is to be mended or agreed on anew.",
    UNUSED: "A waiver that matches nothing would silently admit the next resource of that name.",
    REFUSED: "A waiver is for one rule that there is, and some rules have no exception.",
}
"""Reasons of findings about waivers, by their rule."""


@dataclass(frozen=True, kw_only=True)
class Waived:
    """A finding that a waiver admits."""

    finding: Finding
    waiver: Waiver


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What became of a look at resources. A finding's first place is the resource's URN, ``waivers[N]`` for a waiver,
    counted from 0; its check is the rule."""

    findings: tuple[Finding, ...]
    """What stands, sorted; empty when all is well."""
    waived: tuple[Waived, ...]
    """What the environment's waivers admit, sorted."""


@dataclass(frozen=True, kw_only=True)
class Policies:
    """The rules, with what one environment's file declares and waives."""

    declared: Declared
    waivers: tuple[Waiver, ...]
    today: date
    """The day, in UTC, that waivers are judged by."""

    def judge(self, resources: Iterable[Resource]) -> Judged:
        """Look at every resource by every rule, then at the waivers."""
        found = {finding for resource in resources for finding in self._broken(resource)}
        findings, waived = _apply(found, self.waivers, today=self.today)
        return Judged(findings=tuple(findings), waived=tuple(waived))

    def against(self, resource: Resource) -> tuple[Finding, ...]:
        """What stands against one resource, sorted; nothing of the waivers themselves."""
        findings = self.judge([resource]).findings
        return tuple(finding for finding in findings if finding.where == (resource.urn,))

    def _broken(self, resource: Resource) -> Iterator[Finding]:
        for check in checks():
            for breach in check.breaches(resource, self.declared):
                yield Finding(
                    severity=Severity.PROBLEM,
                    what=breach.what,
                    where=(resource.urn,),
                    why=f"{check.rule.reason} ({check.rule.source})",
                    do=breach.write,
                    check=check.rule.id,
                )


def checks() -> tuple[Check, ...]:
    """Every look at a resource, whichever cloud's."""
    return (*(check for cloud in clouds().values() for check in cloud.policy.checks()), *secrets.CHECKS)


def policies(environment: Environment, *, today: date | None = None) -> Policies:
    """The rules as ``environment`` bends them. ``today`` is the present day in UTC unless said otherwise."""
    return Policies(
        declared=Declared(
            environment=environment.name,
            sites=frozenset(environment.sites),
            tags=environment.tags,
            supernet=environment.supernet,
            operators=environment.access.operators,
            public=_public(environment),
            destroyable=environment.destroyable,
        ),
        waivers=environment.waivers,
        today=today or datetime.now(UTC).date(),
    )


def name_of(finding: Finding) -> str:
    """The name of the resource that a policy's finding is about: it has its URN alone, or which waiver it is."""
    return finding.where[0].rpartition("::")[2]


def by_resource(found: Iterable[Finding]) -> list[Finding]:
    """In the order of their URNs, then of the rules."""
    return sorted(found, key=lambda one: (one.where, one.check, one.what, one.why, one.do))


def rules_tables() -> str:
    """The tables of docs/policy.md, one for each theme: rule, reason, source."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for theme, rules in THEMES.items():
        yield f"\n### {theme}\n\n| Rule | What must hold, and why | Source |\n| --- | --- | --- |"
        for rule in rules:
            name = f"`{rule.id}`" if rule.waivable else f"`{rule.id}` (no waiver)"
            yield f"| {name} | {rule.reason} | {rule.source} |"
    yield "\n"


def _public(environment: Environment) -> frozenset[str]:
    """Resources that the environment's sites need at the internet."""
    named = (cloud_of(site).policy.public(place_of(environment, name)) for name, site in environment.sites.items())
    return frozenset().union(*named)


def _apply(found: Iterable[Finding], waivers: Sequence[Waiver], *, today: date) -> tuple[list[Finding], list[Waived]]:
    """What stands, findings about the waivers themselves among it, and what is waived; both sorted."""
    refused = {index: reason for index, one in enumerate(waivers) if (reason := _refusal(one))}
    used: set[int] = set()
    stands: list[Finding] = []
    waived: list[Waived] = []
    for finding in by_resource(found):
        matching = [index for index, one in enumerate(waivers) if index not in refused and _covers(one, finding)]
        used.update(matching)
        live = next((waivers[index] for index in matching if waivers[index].until >= today), None)
        if live is None:
            stands.append(finding)
        else:
            waived.append(Waived(finding=finding, waiver=live))
    stands += _about(waivers, refused=refused, used=used, today=today)
    return by_resource(stands), waived


def _covers(waiver: Waiver, finding: Finding) -> bool:
    """Whether it is about the rule and the resource of ``finding``, whatever the day."""
    return waiver.rule == finding.check and fnmatchcase(name_of(finding), waiver.resource)


def _refusal(waiver: Waiver) -> str:
    """Why it cannot stand; empty when it can."""
    rule = next((one for one in RULES if one.id == waiver.rule), None)
    if rule is None:
        return f"there is no rule {waiver.rule!r}"
    if not rule.waivable:
        return f"{waiver.rule} cannot be waived"
    return ""


def _about(waivers: Sequence[Waiver], *, refused: Mapping[int, str], used: set[int], today: date) -> Iterator[Finding]:
    """Findings about the waivers themselves."""
    for index, waiver in enumerate(waivers):
        named = f"{waiver.rule} for {waiver.resource}"
        if index in refused:
            yield _waiver(index, REFUSED, refused[index], "the id of a rule in docs/policy.md that can be waived")
        elif index not in used:
            yield _waiver(index, UNUSED, f"{named} matches nothing", "nothing: take the waiver out")
        elif waiver.until < today:
            what = f"{named} ended on {waiver.until}"
            yield _waiver(index, EXPIRED, what, "what the rule wants, or a new day that somebody approves")


def _waiver(index: int, rule: str, what: str, do: str) -> Finding:
    where = (f"waivers[{index}]",)
    return Finding(severity=Severity.PROBLEM, what=what, where=where, why=WHY[rule], do=do, check=rule)
