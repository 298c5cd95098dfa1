"""Policies: rules that an environment must satisfy however its program changes, and the exceptions that its file
admits.

There are no side effects: the same resources and environment give the same findings. ``longhaul plan`` judges a
preview's resources; the program judges each resource before it is made or changed (``components/guards/policies.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from clouds.base import secret_checks
from clouds.base.findings import Finding, Severity
from clouds.base.policy import Check, Declared, Resource
from clouds.base.policy_rules import RULES, THEMES
from clouds.registry import cloud_of, clouds
from components.model.environment import Environment
from components.model.policy.waivers import Waiver
from components.model.sites.places import place_of

PREVIEW_JUDGED = "LONGHAUL_PREVIEW_JUDGED"
"""Environment variable of callers that judge the engine's preview themselves, like ``longhaul plan``. The program's
hook, which takes milliseconds for each new resource, then skips previews. It always runs before anything is made or
changed."""

EXPIRED, UNUSED, REFUSED = "waiver-expired", "waiver-unused", "waiver-refused"

WHY: Mapping[str, str] = {
    EXPIRED: "A waiver ends on its last day: a temporary exception must be fixed or approved again.",
    UNUSED: "A waiver that matches nothing would silently admit the next resource of that name.",
    REFUSED: "A waiver names one existing rule, and some rules allow no exception.",
}
"""Reasons of findings about waivers, by rule."""


@dataclass(frozen=True, kw_only=True)
class Waived:
    """A finding that a waiver admits."""

    finding: Finding
    waiver: Waiver


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Result of judging resources. The first place of a finding is the resource's URN, or ``waivers[N]`` for a waiver,
    counted from 0. A finding's check is the id of the rule."""

    findings: tuple[Finding, ...]
    """Findings that no waiver admits, sorted; empty when there are none."""
    waived: tuple[Waived, ...]
    """Findings that the environment's waivers admit, sorted."""


@dataclass(frozen=True, kw_only=True)
class Policies:
    """The rules, with the data and the waivers of one environment's file."""

    declared: Declared
    waivers: tuple[Waiver, ...]
    today: date
    """Date in UTC by which waivers are judged."""

    def judge(self, resources: Iterable[Resource]) -> Judged:
        """Judge every resource by every rule, then the waivers."""
        breaches = {finding for resource in resources for finding in self._broken(resource)}
        findings, waived = _apply(breaches, self.waivers, today=self.today)
        return Judged(findings=tuple(findings), waived=tuple(waived))

    def against(self, resource: Resource) -> tuple[Finding, ...]:
        """Return the findings against one resource that no waiver admits, sorted, without those about the waivers
        themselves."""
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
    """Return every check of a resource, of all clouds."""
    return (*(check for cloud in clouds().values() for check in cloud.policy.checks()), *secret_checks.CHECKS)


def policies(environment: Environment, *, today: date | None = None) -> Policies:
    """Return the rules for ``environment``, with its waivers. ``today`` defaults to the current date in UTC."""
    return Policies(
        declared=Declared(
            name=environment.name,
            sites=frozenset(environment.sites),
            tags=environment.tags,
            supernet=environment.supernet,
            operators=environment.access.operators,
            operators_inside=environment.access.operators_inside,
            public=_public(environment),
            destroyable=environment.destroyable,
        ),
        waivers=environment.waivers,
        today=today or datetime.now(UTC).date(),
    )


def name_of(finding: Finding) -> str:
    """Return the name of the resource that a finding is about, from the URN in its place. For a finding about a waiver,
    return the place itself, ``waivers[N]``."""
    return finding.where[0].rpartition("::")[2]


def by_resource(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by URN, then by rule."""
    return sorted(findings, key=lambda finding: (finding.where, finding.check, finding.what, finding.why, finding.do))


def rules_tables() -> str:
    """Render the tables of docs/policy.md, one for each theme: rule, reason, source."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for theme, rules in THEMES.items():
        yield f"\n### {theme}\n\n| Rule | What must hold, and why | Source |\n| --- | --- | --- |"
        for rule in rules:
            name = f"`{rule.id}`" if rule.waivable else f"`{rule.id}` (no waiver)"
            yield f"| {name} | {rule.reason} | {rule.source} |"
    yield "\n"


def _public(environment: Environment) -> frozenset[str]:
    """Return the names of resources that connect the environment's sites to the internet."""
    named = (cloud_of(site).policy.public(place_of(environment, name)) for name, site in environment.sites.items())
    return frozenset().union(*named)


def _apply(
    findings: Iterable[Finding], waivers: Sequence[Waiver], *, today: date
) -> tuple[list[Finding], list[Waived]]:
    """Return the findings that no waiver admits, including those about the waivers themselves, and those that are
    waived; both sorted."""
    refused = {index: reason for index, waiver in enumerate(waivers) if (reason := refusal(waiver))}
    used: set[int] = set()
    stands: list[Finding] = []
    waived: list[Waived] = []
    for finding in by_resource(findings):
        matching = [index for index, waiver in enumerate(waivers) if index not in refused and _covers(waiver, finding)]
        used.update(matching)
        live = next((waivers[index] for index in matching if waivers[index].until >= today), None)
        if live is None:
            stands.append(finding)
        else:
            waived.append(Waived(finding=finding, waiver=live))
    stands += _about(waivers, refused=refused, used=used, today=today)
    return by_resource(stands), waived


def _covers(waiver: Waiver, finding: Finding) -> bool:
    """Return whether the waiver is for the rule and the resource of ``finding``, whatever its last day."""
    return waiver.rule == finding.check and fnmatchcase(name_of(finding), waiver.resource)


def refusal(waiver: Waiver) -> str:
    """Return the reason why the waiver is refused; empty when it is not."""
    rule = next((candidate for candidate in RULES if candidate.id == waiver.rule), None)
    if rule is None:
        return f"there is no rule {waiver.rule!r}"
    if not rule.waivable:
        return f"{waiver.rule} cannot be waived"
    return ""


def _about(waivers: Sequence[Waiver], *, refused: Mapping[int, str], used: set[int], today: date) -> Iterator[Finding]:
    """Yield the findings about the waivers themselves."""
    for index, waiver in enumerate(waivers):
        named = f"{waiver.rule} for {waiver.resource}"
        if index in refused:
            yield _waiver(index, REFUSED, refused[index], "the id of a rule in docs/policy.md that can be waived")
        elif index not in used:
            yield _waiver(index, UNUSED, f"{named} matches nothing", "nothing: take the waiver out")
        elif waiver.until < today:
            what = f"{named} ended on {waiver.until}"
            yield _waiver(index, EXPIRED, what, "a value that the rule accepts, or a new day that somebody approves")


def _waiver(index: int, rule: str, what: str, do: str) -> Finding:
    where = (f"waivers[{index}]",)
    return Finding(severity=Severity.PROBLEM, what=what, where=where, why=WHY[rule], do=do, check=rule)
