"""The policy for what pods of teams tolerate. A pod that tolerates every taint comes to nodes that nobody has looked at
yet, that are about to end, that are cordoned, or that are the cluster's own; with GPUs it keeps their test from
running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.objects.team_conditions import CREATED, MAKERS, by, pod_specifications, refusing
from contract.taints import CORDON, SET_AND_LIFTED, SYSTEM_TAINT

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

TOLERATIONS = "longhaul-team-tolerations"
"""Name of the policy."""
CLUSTERS = (*sorted(SET_AND_LIFTED), SYSTEM_TAINT, CORDON)
"""Keys of the taints that pods of teams do not tolerate. Those of pools are in the environment file."""
EVERYTHING = (
    "pods of a team name each taint that they tolerate by its key, and tolerate neither"
    f" {', '.join(CLUSTERS[:-1])} nor {CLUSTERS[-1]}"
)


def tolerations_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy. Existing objects keep what they tolerate."""
    listed = "{}.?tolerations.orValue([])"
    template = listed.format("{}.?template.?spec")
    roles = f"object.spec.?replicatedJobs.orValue([]).map(r, {template.format('r.?template.?spec')})"
    lists = [
        listed.format("object.spec"),
        template.format("object.spec"),
        template.format("object.spec.?jobTemplate.?spec"),
    ]
    every = (
        f"([{', '.join(lists)}] + {roles}).all(l, l.all(t, t.?key.orValue('') != '' && !(t.key in {list(CLUSTERS)})))"
    )
    kept = " && ".join(f"{part} == {part.replace('object', 'oldObject')}" for part in (*lists, roles))
    made = f"request.resource.resource == 'pods' && {by(*MAKERS)}"
    rules = pod_specifications("CREATE", "UPDATE")
    return refusing(rules, {f"{made} || !({CREATED}) && {kept} || {every}": EVERYTHING})
