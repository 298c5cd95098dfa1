"""Longer tolerations of training pods, so that they outlive a cut network link.

When a site's link is cut, its nodes look dead to the API servers. Kubernetes marks a silent node after 50 s, and evicts
its pods 300 s later, because every pod tolerates this state for so long by default. The pods themselves are healthy:
they continue to train, and the eviction would kill them when the link is back. Pods whose state is worth keeping
therefore tolerate that state for longer than the repair of a line takes.

Such pods have one of the training priority classes, or a label: ``longhaul.dev/outlive-network-cuts`` is ``"true"`` on
any other pod, and ``"false"`` on a training pod that should rather start again elsewhere. Tolerations of these taints
that a pod itself sets stay as they are.

Machines that no longer exist are a different case: the node controller asks their cloud, and removes their nodes with
all pods, regardless of tolerations. A broken host keeps its pods until the time is over or its node is deleted.

The API server itself sets the longer tolerations, by a MutatingAdmissionPolicy (on by default since Kubernetes 1.36),
so there is no webhook that could fail.
"""

from __future__ import annotations

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding

from components.objects.object_metadata import meta, new_pods
from components.objects.pod_priorities import TRAINING_CLASSES
from contract.labels import OUTLIVE_LABEL
from contract.taints import CUT

PART = "training"
TOLERATION_S = 6 * 3600
"""Time that a training pod waits for its node, seconds. It is longer than carriers promise for the repair of a line
(business contracts commonly name 4 to 5 hours), and shorter than a night, so that no job stays that long on a dead
host."""
DEFAULT_TOLERATION_S = 300
"""Time that kube-apiserver sets for every pod without a toleration of its own, seconds
(``--default-unreachable-toleration-seconds``)."""


class TrainingPods(ComponentResource):
    """The policy and its binding, for all namespaces."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:TrainingPods", name, None, opts)
        policy = "longhaul-outlive-network-cuts"
        made = MutatingAdmissionPolicy(
            policy,
            metadata=meta(policy, part=PART),
            spec={
                "match_constraints": {"resource_rules": new_pods()},
                "match_conditions": [{"name": "holds-state", "expression": holds_state()}],
                "failure_policy": "Fail",
                "reinvocation_policy": "IfNeeded",
                "mutations": [{"patch_type": "JSONPatch", "json_patch": {"expression": mutation()}}],
            },
            opts=ResourceOptions(parent=self),
        )
        MutatingAdmissionPolicyBinding(
            f"{policy}-everywhere",
            metadata=meta(policy, part=PART),
            spec={"policy_name": policy},
            opts=ResourceOptions(parent=self, depends_on=[made]),
        )
        self.register_outputs({})


def holds_state() -> str:
    """Return the condition (CEL) for pods whose state is worth keeping."""
    classes = ", ".join(f"'{class_.name}'" for class_ in TRAINING_CLASSES)
    label = f"object.metadata.?labels['{OUTLIVE_LABEL}'].orValue('')"
    return f"{label} == 'true' || ({label} != 'false' && object.spec.?priorityClassName.orValue('') in [{classes}])"


def mutation() -> str:
    """Return the patch (CEL) that lengthens the API server's own tolerations of a cut, and only those.

    These tolerations exist by now: the plugin that adds them runs before policies (k8s.io/kubernetes,
    ``pkg/kubeapiserver/options/plugins.go``). They are changed in place: of two tolerations of one taint the shorter
    counts, and kube-apiserver 1.36 panics on a patch whose value is a list of objects.
    """
    taints = ", ".join(f"'{taint}'" for taint in CUT)
    default = (
        f"t.?key.orValue('') in [{taints}] && t.?effect.orValue('') == 'NoExecute' "
        f"&& t.?tolerationSeconds.orValue(0) == {DEFAULT_TOLERATION_S}"
    )
    path = "'/spec/tolerations/' + string(i) + '/tolerationSeconds'"
    patch = f"JSONPatch{{op: 'replace', path: {path}, value: {TOLERATION_S}}}"
    return f"object.spec.?tolerations.orValue([]).transformList(i, t, {default}, {patch})"
