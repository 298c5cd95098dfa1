"""Policies for the time that pods of teams take to end: the time that they declare, and the time that a deletion
requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.objects.team_conditions import CREATED, MAKERS, by, jobs, kind, refusing, template_rules
from contract.grace_periods import TEAM_GRACE_S

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

ENDS, ASKED = "longhaul-team-ends", "longhaul-team-deletions"
"""Names of two policies for the time that pods take to end: the time that pods declare, and the time that a deletion
requests."""
LATE = f"pods of a team end within {TEAM_GRACE_S} s: terminationGracePeriodSeconds is at most that"


def ends_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses templates of pods, and pods without a template, that take longer to end than
    allowed. Existing objects stay as they are."""
    grace = "{}.?terminationGracePeriodSeconds.orValue(0)"
    template = grace.format("{}.?template.?spec")
    roles = f"object.spec.?replicatedJobs.orValue([]).map(r, {template.format('r.template.spec')})"
    graces = [
        grace.format("object.spec"),
        template.format("object.spec"),
        template.format("object.spec.?jobTemplate.?spec"),
    ]
    every = f"([{', '.join(graces)}] + {roles}).all(s, s <= {TEAM_GRACE_S})"
    kept = " && ".join(f"{expression} == {expression.replace('object', 'oldObject')}" for expression in graces)
    same = f"!({CREATED}) && {kept}"
    made = f"request.resource.resource == 'pods' && {by(*MAKERS)}"
    both = ("CREATE", "UPDATE")
    rules = [*jobs("CREATE"), *kind("batch", "cronjobs", *both), *template_rules(*both), *kind("", "pods", "CREATE")]
    return refusing(rules, {f"{made} || {same} || {every}": LATE})


def deletions_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses a longer time to end when pods are deleted or evicted."""
    options = f"({CREATED} ? object.?deleteOptions : request.?options)"
    return refusing(
        [*kind("", "pods", "DELETE"), *kind("", "pods/eviction", "CREATE")],
        {f"{options}.?gracePeriodSeconds.orValue(0) <= {TEAM_GRACE_S}": LATE},
    )
