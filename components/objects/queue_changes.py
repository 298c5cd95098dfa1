"""The policy for what Kueue and JobSet write: a stolen certificate of either gets no more than the program needs.

Kueue gates, places and counts what others have made (its pkg/podset, ``Merge``, and pkg/controller/jobs), and never
changes what runs in a container. JobSet makes the Jobs and the headless Services of its JobSets, and starts and ends
these Jobs (its pkg/controllers/jobset_controller.go). Quotas and flavors are the administrators', although Kueue writes
finalizers into them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.model.teams.queues import JOBSET, KUEUE
from components.objects.team_conditions import CREATED, by, jobs, kind, owners, same_owners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

CHANGES = "longhaul-queues-changes"
"""Name of the policy."""
JOB_FIELDS = ("suspend", "template", "replicatedJobs")
"""Fields of a Job or a JobSet that the programs change; of a template those of :data:`POD_FIELDS` alone."""
POD_FIELDS = ("schedulingGates", "nodeSelector", "tolerations")
"""Fields of a pod or of a template that the programs change."""
NAME = "jobset.sigs.k8s.io/jobset-name"
"""Label by which a JobSet's Service selects its pods."""

CONTENT = "Kueue and JobSet start, place and end what others have made, and change nothing else of it"
PARTS = "JobSet makes Jobs and headless Services of JobSets, and changes no other Services"
QUOTAS = "quotas and flavors are the administrators'"


def changes_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy."""
    is_pod, is_set = (f"request.resource.resource == '{resource}'" for resource in ("pods", "jobsets"))
    is_service, is_queue = (f"request.resource.resource == '{resource}'" for resource in ("services", "clusterqueues"))
    is_cluster = "!has(request.namespace)"
    updating = "request.operation == 'UPDATE'"
    pods = same("object.spec", "oldObject.spec", POD_FIELDS)
    job = same("object.spec.template.spec", "oldObject.spec.template.spec", POD_FIELDS)
    # JobSet's webhook keeps the roles of a JobSet, whoever asks; Kueue writes them anew in another form.
    content = (
        f"{same_owners()} && ({is_pod} ? {pods} : {same('object.spec', 'oldObject.spec', JOB_FIELDS)}"
        f" && ({is_set} || {job}))"
    )
    part = "{}.exists(o, o.kind == 'JobSet' && o.apiVersion.startsWith('jobset.x-k8s.io/'))"
    new, old = part.format(owners("object")), part.format(owners("oldObject"))
    headless = (
        "object.spec.?clusterIP.orValue('') == 'None' && !has(object.spec.externalIPs)"
        f" && object.spec.?selector.orValue({{}}).exists(k, k == '{NAME}')"
    )
    made = f"({CREATED} ? {new} : {old}) && (request.operation == 'DELETE' || !({is_service}) || {headless})"
    return {
        "match_constraints": {
            "resource_rules": [
                *kind("", "pods", "UPDATE"),
                *jobs("CREATE", "UPDATE"),
                *kind("", "services", "CREATE", "UPDATE", "DELETE"),
                *(
                    rule
                    for resource in ("clusterqueues", "resourceflavors", "admissionchecks", "topologies")
                    for rule in kind("kueue.x-k8s.io", resource, "UPDATE")
                ),
            ]
        },
        "match_conditions": [{"name": "queues", "expression": by(KUEUE.user, JOBSET.user)}],
        "failure_policy": "Fail",
        "validations": [
            {"expression": expression, "message": message, "reason": "Forbidden"}
            for expression, message in {
                f"{is_cluster} || {is_service} || !({updating}) || {content}": CONTENT,
                f"!({CREATED} || {is_service}) || {made}": PARTS,
                f"!({is_cluster}) || ({is_queue} ? {_same_quotas()} : object.?spec == oldObject.?spec)": QUOTAS,
            }.items()
        ],
    }


def same(new: str, old: str, changeable: Sequence[str]) -> str:
    """Return the condition (CEL) that all fields but those that are ``changeable`` are as they were."""
    return (
        f"{new}.all(k, k in {list(changeable)} || k in {old} && {old}[k] == {new}[k])"
        f" && {old}.all(k, k in {list(changeable)} || k in {new})"
    )


def _same_quotas() -> str:
    """Return the condition (CEL) that a ClusterQueue keeps whom it is for and what they may use. Kueue writes the whole
    object, and quantities in another form (``1024Gi`` as ``1Ti``)."""
    kept = " && ".join(
        f"object.spec.?{field} == oldObject.spec.?{field}" for field in ("cohortName", "namespaceSelector")
    )
    amounts = " && ".join(
        f"r.?{field}.hasValue() == q.?{field}.hasValue() && (!r.?{field}.hasValue()"
        f" || quantity(string(r.{field})).compareTo(quantity(string(q.{field}))) == 0)"
        for field in ("nominalQuota", "borrowingLimit", "lendingLimit")
    )
    resources = f"f.resources.all(r, e.resources.exists(q, q.name == r.name && {amounts}))"
    flavors = f"g.flavors.all(f, h.flavors.exists(e, e.name == f.name && {resources}))"
    groups = "{}.spec.?resourceGroups.orValue([])"
    new, old = groups.format("object"), groups.format("oldObject")
    return f"{kept} && {new}.all(g, {old}.exists(h, {flavors}))"
