"""Refusal of tokens without an end.

A Secret of type ``kubernetes.io/service-account-token`` is given a token that is valid as long as the Secret is there
(kubernetes.io, "Configure Service Accounts for Pods"). Whoever may write Secrets in a namespace could so keep a way in.
Pods have tokens that are renewed, and people and programs outside ask for one that ends (``kubectl create token``),
within what the API servers allow.
"""

from __future__ import annotations

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding

from components.objects.labels import SYSTEM, meta

PART = "account-tokens"
REFUSAL = "a service account's token in a Secret has no end; ask for one that has: kubectl create token"


class AccountTokens(ComponentResource):
    """The policy and its binding."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:AccountTokens", name, None, opts)
        policy = "longhaul-account-tokens"
        made = ValidatingAdmissionPolicy(
            policy,
            metadata=meta(policy, part=PART),
            spec={
                "match_constraints": {
                    "resource_rules": [
                        {"api_groups": [""], "api_versions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
                    ],
                    "namespace_selector": {
                        "match_expressions": [
                            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [SYSTEM]}
                        ]
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
            },
            opts=ResourceOptions(parent=self),
        )
        ValidatingAdmissionPolicyBinding(
            f"{policy}-everywhere",
            metadata=meta(policy, part=PART),
            spec={"policy_name": policy, "validation_actions": ["Deny"]},
            opts=ResourceOptions(parent=self, depends_on=[made]),
        )
        self.register_outputs({})
