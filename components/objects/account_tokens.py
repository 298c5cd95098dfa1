"""Refusal of tokens that never expire.

A Secret of type ``kubernetes.io/service-account-token`` gets a token that is valid as long as the Secret exists
(kubernetes.io, "Configure Service Accounts for Pods"). Whoever may write Secrets in a namespace could thus keep access
for ever. Pods have tokens that are renewed. People and programs outside request a token that expires (``kubectl create
token``), within the API servers' limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.objects.admission import refuse
from contract.labels import NAMESPACE_LABEL
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

PART = "account-tokens"
REFUSAL = "a service account's token in a Secret has no end; ask for one that has: kubectl create token"


class AccountTokens(ComponentResource):
    """The policy and its binding."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:AccountTokens", name, None, opts)
        refuse("longhaul-account-tokens", policy(), part=PART, parent=self)
        self.register_outputs({})


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses Secrets of that type outside ``kube-system``."""
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": [""], "api_versions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
            ],
            "namespace_selector": {
                "match_expressions": [{"key": NAMESPACE_LABEL, "operator": "NotIn", "values": [SYSTEM_NAMESPACE]}]
            },
        },
        "failure_policy": "Fail",
        # A Secret's type cannot be changed later (kubernetes, pkg/apis/core/validation).
        "validations": [
            {
                "expression": "object.type != 'kubernetes.io/service-account-token'",
                "message": REFUSAL,
                "reason": "Forbidden",
            }
        ],
    }
