"""The accountant in the cluster: its permissions, and the policies by which it closes a team's namespace to new pods.

The accountant (services/accountant) runs on the API servers' machines. It reads pods, jobs and queues, and writes one
label and one condition of teams' namespaces. While a namespace has the label, API servers refuse new pods in it, and
refuse to bind its pods to nodes, so that what is free to be scheduled stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.model.secrets.certificates import ADMINISTRATORS_GROUP, MASTERS_GROUP
from components.objects.admission import NEW_LABELS, OLD_LABELS, refuse
from components.objects.node_labels import NEW_NOTES, OLD_NOTES, changed
from components.objects.program_permissions import grant
from components.objects.queue_changes import same
from contract.conditions import BEYOND_QUEUE
from contract.labels import HELD_LABEL, TEAM_LABEL
from contract.object_names import ACCOUNTANT_LEASE, SYSTEM_NAMESPACE
from contract.users import ACCOUNTANT_ACCOUNT, ACCOUNTANT_USER

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

PART = ACCOUNTANT_ACCOUNT
HOLDS, LABEL, NAMESPACES = "longhaul-team-holds", "longhaul-held-label", "longhaul-accountant-namespaces"
"""Names of three policies: what a closed namespace refuses, who closes and opens it, and what the accountant may change
of namespaces."""
ENDS = "longhaul-accountant-jobs"
"""Name of the policy for what the accountant may change of jobs."""

CLOSED = "pods run there that the team's queue has not admitted"
REFUSAL = f"no new pods in this namespace and no nodes for its pods: {CLOSED}. Delete them"
WRITERS = f"the label {HELD_LABEL} of a namespace is for the accountant to write"
CHANGES = f"of namespaces, the accountant writes teams' label {HELD_LABEL} and condition {BEYOND_QUEUE} alone"
ENDINGS = (
    "the accountant suspends Jobs of teams, and sets a suspended JobSet's numbers of active Jobs to zero: it changes"
    " nothing else of jobs"
)

FOLLOW = ["list", "watch"]
CLUSTER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    {"api_groups": [""], "resources": ["pods"], "verbs": FOLLOW},
    {"api_groups": ["batch"], "resources": ["jobs"], "verbs": [*FOLLOW, "patch"]},
    {"api_groups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": [*FOLLOW, "get"]},
    {"api_groups": ["jobset.x-k8s.io"], "resources": ["jobsets/status"], "verbs": ["patch"]},
    {
        "api_groups": ["kueue.x-k8s.io"],
        "resources": ["clusterqueues", "localqueues", "workloads"],
        "verbs": FOLLOW,
    },
    {"api_groups": [""], "resources": ["namespaces"], "verbs": [*FOLLOW, "patch"]},
    {"api_groups": [""], "resources": ["namespaces/status"], "verbs": ["patch"]},
    {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
)
"""Permissions of the accountant in the whole cluster."""
LEASE_RULES: tuple[PolicyRuleArgsDict, ...] = (
    # The right to create cannot be limited to a name.
    {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resource_names": [ACCOUNTANT_LEASE],
        "verbs": ["get", "patch"],
    },
)
"""Permissions of the accountant in ``kube-system``."""


class AccountantAccess(ComponentResource):
    """The policies, and the permissions, which the policies narrow."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:AccountantAccess", name, None, opts)
        limits = [
            refuse(policy, spec, part=PART, parent=self)
            for policy, spec in {
                HOLDS: holds_policy(),
                LABEL: label_policy(),
                NAMESPACES: namespaces_policy(),
                ENDS: ends_policy(),
            }.items()
        ]
        grant(ACCOUNTANT_USER, CLUSTER_RULES, {SYSTEM_NAMESPACE: LEASE_RULES}, part=PART, parent=self, after=limits)
        self.register_outputs({})


def holds_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses everybody new pods in a closed namespace, and nodes for its pods. A pod is bound
    by either of two resources."""
    return {
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": [""],
                    "api_versions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods", "pods/binding", "bindings"],
                }
            ],
            "namespace_selector": {"match_expressions": [{"key": HELD_LABEL, "operator": "Exists"}]},
        },
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": "false",
                "message": REFUSAL,
                "message_expression": f'"{REFUSAL} (kubectl describe namespace " + request.namespace + ": Conditions)"',
                "reason": "Forbidden",
            }
        ],
    }


def label_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets only the accountant and administrators close and open namespaces."""
    before = f"request.operation == 'CREATE' ? false : '{HELD_LABEL}' in {OLD_LABELS}"
    return {
        "match_constraints": {"resource_rules": [_namespaces("CREATE", "UPDATE")]},
        "match_conditions": [
            {"name": "changes-the-label", "expression": f"('{HELD_LABEL}' in {NEW_LABELS}) != ({before})"},
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": (
                    f"request.userInfo.username == '{ACCOUNTANT_USER}' || "
                    f"request.userInfo.groups.exists(g, g in ['{ADMINISTRATORS_GROUP}', '{MASTERS_GROUP}'])"
                ),
                "message": WRITERS,
                "reason": "Forbidden",
            }
        ],
    }


def namespaces_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets the accountant change one label and one condition of teams' namespaces."""
    others = "{}.status.?conditions.orValue([]).filter(c, c.type != '" + BEYOND_QUEUE + "')"
    kept = " && ".join(
        f"object.{field} == oldObject.{field}"
        for field in ("metadata.?finalizers", "metadata.?ownerReferences", "?spec", "status.?phase")
    )
    conditions = " && ".join(
        f"{others.format(side)}.all(c, c in {others.format(other)})"
        for side, other in (("object", "oldObject"), ("oldObject", "object"))
    )
    return {
        "match_constraints": {"resource_rules": [_namespaces("CREATE", "UPDATE")]},
        "match_conditions": [
            {"name": "by-the-accountant", "expression": f"request.userInfo.username == '{ACCOUNTANT_USER}'"}
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": (
                    f"request.operation == 'UPDATE' && '{TEAM_LABEL}' in {OLD_LABELS} "
                    f"&& {changed(OLD_LABELS, NEW_LABELS)}.all(k, k == '{HELD_LABEL}') "
                    f"&& {changed(OLD_NOTES, NEW_NOTES)}.size() == 0 && {kept} && {conditions}"
                ),
                "message": CHANGES,
                "reason": "Forbidden",
            }
        ],
    }


def ends_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets the accountant suspend Jobs of teams, and count no active Jobs of a suspended JobSet
    (services/accountant/job_endings.py)."""
    # Jobs have two fields that each write changes, besides who wrote them.
    written = ["generation", "resourceVersion", "managedFields"]
    metadata = same("object.metadata", "oldObject.metadata", written)
    suspended = f"object.spec.?suspend.orValue(false) && {same('object.spec', 'oldObject.spec', ['suspend'])}"
    zero = (
        "object.status.?replicatedJobsStatus.orValue([]).all(n, oldObject.status.?replicatedJobsStatus.orValue([])"
        f".exists(o, o.name == n.name && n.?active.orValue(0) == 0 && {same('n', 'o', ['active'])}))"
    )
    # The list has a role of each name once.
    as_many = " == ".join(f"{side}.status.?replicatedJobsStatus.orValue([]).size()" for side in ("object", "oldObject"))
    counted = (
        "oldObject.spec.?suspend.orValue(false) && has(object.status) && has(oldObject.status)"
        f" && {same('object.status', 'oldObject.status', ['replicatedJobsStatus'])} && {zero} && {as_many}"
    )
    is_team = f"'{TEAM_LABEL}' in namespaceObject.metadata.?labels.orValue({{}})"
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": [group], "api_versions": ["*"], "operations": ["UPDATE"], "resources": resources}
                for group, resources in (
                    ("batch", ["jobs", "jobs/status"]),
                    ("jobset.x-k8s.io", ["jobsets", "jobsets/status"]),
                )
            ]
        },
        "match_conditions": [
            {"name": "by-the-accountant", "expression": f"request.userInfo.username == '{ACCOUNTANT_USER}'"}
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": (
                    f"{is_team} && {metadata} && (request.resource.resource == 'jobs' ? {suspended} : {counted})"
                ),
                "message": ENDINGS,
                "reason": "Forbidden",
            }
        ],
    }


def _namespaces(*operations: str) -> NamedRuleWithOperationsArgsDict:
    return {
        "api_groups": [""],
        "api_versions": ["v1"],
        "operations": operations,
        "resources": ["namespaces", "namespaces/*"],
    }
