"""Limits of the autoscaler's user that no role can set: which fields of a Node it may change, and the names of objects
that it makes.

A right to patch Nodes includes their labels and taints, which can draw pods to any node; and a right to create objects
includes every name (kubernetes.io, "Using RBAC Authorization", "Referring to resources"). Two policies of the API
servers narrow both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pulumi import ComponentResource, Resource, ResourceOptions

from components.model.secrets.certificates import AUTOSCALER_USER
from components.objects.admission import NEW_LABELS, OLD_LABELS, refuse
from components.objects.node_labels import LIFTS, NEW_NOTES, OLD_NOTES, changed
from contract.annotations import SCALE_IN
from contract.object_names import AUTOSCALER
from contract.users import AUTOSCALER_ACCOUNT

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MatchConditionArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )

PART = AUTOSCALER_ACCOUNT
NODES, NAMES = "longhaul-autoscaler-nodes", "longhaul-autoscaler-names"
"""Names of the two policies."""
REFUSAL = "the autoscaler may not change this of a node"
FOREIGN_CORDON = "the autoscaler lifts its own cordons only"
NAME_REFUSAL = "the autoscaler makes its own memory and leases only, and not"


class AutoscalerPolicies(ComponentResource):
    """The two policies and their bindings. The user's roles are made after ``bindings``."""

    def __init__(self, name: str, *, leases: Iterable[str], opts: ResourceOptions | None = None) -> None:
        """``leases``: names of the leases that the autoscaler may take."""
        super().__init__("longhaul:objects:AutoscalerPolicies", name, None, opts)
        self.bindings: list[Resource] = [
            refuse(NODES, nodes_policy(), part=PART, parent=self),
            refuse(NAMES, names_policy(leases), part=PART, parent=self),
        ]
        self.register_outputs({})


def nodes_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets the autoscaler change only a Node's cordon and the autoscaler's own annotation, and
    lift only its own cordons."""
    old, new = "dyn(oldObject.spec)", "dyn(object.spec)"
    owned = ("ownerReferences", "finalizers")
    metadata = " + ".join(
        f"(object.metadata.?{field} == oldObject.metadata.?{field} ? [] : ['{field}'])" for field in owned
    )
    return {
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": [""],
                    "api_versions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["nodes", "nodes/*"],
                }
            ]
        },
        "match_conditions": [_by_the_autoscaler()],
        "variables": [
            {"name": "spec", "expression": f"{changed(old, new)}.filter(k, k != 'unschedulable')"},
            {"name": "notes", "expression": f"{changed(OLD_NOTES, NEW_NOTES)}.filter(k, k != '{SCALE_IN}')"},
            {"name": "metadata", "expression": f"{changed(OLD_LABELS, NEW_LABELS)} + {metadata}"},
            {"name": "refused", "expression": "variables.spec + variables.notes + variables.metadata"},
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": "variables.refused.size() == 0",
                "message_expression": f"'{REFUSAL}: ' + variables.refused.join(', ')",
                "reason": "Forbidden",
            },
            {
                "expression": f"!{LIFTS} || '{SCALE_IN}' in {OLD_NOTES}",
                "message": FOREIGN_CORDON,
                "reason": "Forbidden",
            },
        ],
    }


def names_policy(leases: Iterable[str]) -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets the autoscaler make no leases except ``leases``, and no ConfigMap except the one with
    its own name."""
    allowed = ", ".join(f"'{name}'" for name in leases)
    name = "object.metadata.?name.orValue('')"
    condition = f"request.resource.resource == 'leases' ? {name} in [{allowed}] : {name} == '{AUTOSCALER}'"
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": [group], "api_versions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
                for group, resource in (("coordination.k8s.io", "leases"), ("", "configmaps"))
            ]
        },
        "match_conditions": [_by_the_autoscaler()],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": condition,
                "message_expression": f"'{NAME_REFUSAL} ' + {name}",
                "reason": "Forbidden",
            }
        ],
    }


def _by_the_autoscaler() -> MatchConditionArgsDict:
    return {"name": "by-the-autoscaler", "expression": f"request.userInfo.username == '{AUTOSCALER_USER}'"}
