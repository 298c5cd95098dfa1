"""Protection of instance metadata from pods: the part of the protection that is an object of Kubernetes.

A cloud's metadata service gives a machine's credentials and user-data to every program on the machine. The protection
is on the nodes: a rule of nftables drops packets of pods to 169.254.169.254, and in AWS tokens travel one hop only. A
NetworkPolicy would have no effect, because nothing in our network (plain ``ptp``) enforces it. There is none, so that
nobody relies on it.

The rule cannot distinguish a pod that shares its node's network from the node. So a ValidatingAdmissionPolicy refuses
such pods everywhere except in ``kube-system`` and in namespaces labelled ``longhaul.dev/host-network: allowed``.
Training does not need the node's network, because pods have addresses of their own. Pod Security refuses such pods too,
and privileged ones (:mod:`components.render.admission`); this policy holds also where a namespace's label lifts Pod
Security.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.objects.admission import refuse
from components.objects.object_metadata import new_pods
from contract.labels import HOST_NETWORK_LABEL, NAMESPACE_LABEL
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

PART = "instance-metadata"
ALLOWED = "allowed"
REFUSAL = (
    "a pod in its node's network could read the node's credentials from instance metadata; leave hostNetwork out (pods "
    f"have addresses of their own), or have the namespace labelled {HOST_NETWORK_LABEL}={ALLOWED}"
)


class InstanceMetadata(ComponentResource):
    """The policy and its binding."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:InstanceMetadata", name, None, opts)
        refuse("longhaul-host-network", policy(), part=PART, parent=self)
        self.register_outputs({})


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses pods in their node's network."""
    return {
        "match_constraints": {
            "resource_rules": new_pods(),
            "namespace_selector": {
                "match_expressions": [
                    {"key": NAMESPACE_LABEL, "operator": "NotIn", "values": [SYSTEM_NAMESPACE]},
                    {"key": HOST_NETWORK_LABEL, "operator": "NotIn", "values": [ALLOWED]},
                ]
            },
        },
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": "!object.spec.?hostNetwork.orValue(false)",
                "message": REFUSAL,
                "reason": "Forbidden",
            }
        ],
    }
