"""The policy for what JobSet makes for a JobSet besides its Jobs: Services and volume claims.

At each pass, JobSet's controller makes what is missing before it suspends the Jobs of an evicted JobSet, and ends the
pass when it cannot, because the quota is full or the name is taken (jobset 0.12,
``pkg/controllers/jobset_controller.go``, ``reconcile``). So people do not remove these. What a policy cannot see, the
accountant ends (services/accountant/job_endings.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.objects.team_conditions import CREATED, KNOWN, by_trusted, kind, owners, refusing, same_owners

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

PARTS = "longhaul-team-parts"
"""Name of the policy."""
KEPT = "Services and volume claims of a JobSet stay as long as the JobSet: delete the JobSet"
FOREIGN = "no Service and no volume claim that people make is a part of a Job, a JobSet or a Pod"


def parts_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy. Labels and annotations may change, and the size of a claim."""
    part = f"{{}}.exists(o, o.kind in {list(KNOWN)})"
    new, old = part.format(owners("object")), part.format(owners("oldObject"))
    services = "request.resource.resource != 'services' || object.spec == oldObject.spec"
    finalizers = "object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])"
    kept = f"request.operation == 'UPDATE' && {same_owners()} && {finalizers} && ({services})"
    operations = ("CREATE", "UPDATE", "DELETE")
    return refusing(
        [*kind("", "services", *operations), *kind("", "persistentvolumeclaims", *operations)],
        {
            f"{by_trusted()} || {CREATED} || !({old}) || {kept}": KEPT,
            f"{by_trusted()} || request.operation == 'DELETE' || !({new}) || !({CREATED}) && {old}": FOREIGN,
        },
    )
