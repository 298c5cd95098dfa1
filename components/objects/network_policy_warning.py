"""Warning about NetworkPolicies. Nothing in our network (plain ``ptp``) enforces one, and the API server would accept
it in silence: its author would believe that pods are apart.

A warning and no refusal: many Helm charts contain one, and their programs work without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.objects.admission import warn

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

NAME = "longhaul-network-policies"
PART = "network-policies"
WARNING = (
    "a NetworkPolicy has no effect: nothing in this cluster's network enforces it, and every pod reaches every other; "
    "what must be apart needs an environment of its own"
)


class NetworkPolicyWarning(ComponentResource):
    """The policy and its binding."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NetworkPolicyWarning", name, None, opts)
        warn(NAME, policy(), part=PART, parent=self)
        self.register_outputs({})


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that no NetworkPolicy satisfies."""
    return {
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": ["networking.k8s.io"],
                    "api_versions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["networkpolicies"],
                }
            ]
        },
        # A failure of the policy itself must refuse nothing.
        "failure_policy": "Ignore",
        "validations": [{"expression": "false", "message": WARNING}],
    }
