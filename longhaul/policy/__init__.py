"""Checks over the resources of a preview: what an environment must never be, whoever changes its program.

Pure: resources and what the environment declares in, findings out, the same for the same. docs/policy.md lists the
rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clouds.base.findings import Finding, Severity
from longhaul.policy.declared import Declared, declared_by
from longhaul.policy.registry import RULES
from longhaul.policy.resource import Resource
from longhaul.policy.rule import Rule
from longhaul.policy.waivers import Waived, apply

__all__ = [
    "RULES",
    "Declared",
    "Judged",
    "Resource",
    "Rule",
    "Waived",
    "check",
    "declared_by",
    "judge",
]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What became of a preview."""

    findings: tuple[Finding, ...]
    """What stands, sorted; empty when all is well."""
    waived: tuple[Waived, ...]
    """What the environment's waivers admit, sorted."""


def judge(resources: Iterable[Resource], *, declared: Declared) -> Judged:
    """Look at every resource by every rule, then at the waivers."""
    found = {
        Finding(
            severity=Severity.PROBLEM,
            what=fault.what,
            where=(resource.urn,),
            why=f"{rule.reason} ({rule.source})",
            do=fault.write,
            check=rule.id,
        )
        for resource in resources
        for rule in RULES
        for fault in rule.faults(resource, declared)
    }
    findings, waived = apply(found, declared.waivers, rules=RULES, today=declared.today)
    return Judged(findings=tuple(findings), waived=tuple(waived))


def check(resources: Iterable[Resource], *, declared: Declared) -> list[Finding]:
    """What stands after the waivers, sorted; empty when all is well."""
    return list(judge(resources, declared=declared).findings)
