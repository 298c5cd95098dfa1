"""Training pods outlive a cut line.

When a site's link is cut, its nodes look dead from the API servers: Kubernetes marks a silent node after 50 s, and
300 s later evicts its pods, since that is how long every pod is told to bear it. Nothing is wrong with the pods: they
train on, and the eviction would kill them when the line is back. Pods that hold state worth keeping are therefore told
to bear it for longer than a line's repair takes.

They are told apart by their priority class, one of the training classes, or by a label:
``longhaul.dev/outlive-network-cuts`` is ``"true"`` on any other pod, ``"false"`` on a training pod that had better
start again elsewhere. What a pod itself says of these taints stays as it is.

Machines that are really gone are another matter: the node controller asks their cloud, and removes their nodes with all
pods, whatever these bear. A rack host that broke keeps its pods until the time is over or somebody deletes its node.

The API server does this itself, by a MutatingAdmissionPolicy (on by default since Kubernetes 1.36): there is no webhook
that could be away.
"""

from __future__ import annotations

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding

from components.objects.labels import meta, new_pods
from components.objects.priorities import TRAINING_CLASSES

PART = "training"
LABEL = "longhaul.dev/outlive-network-cuts"
TOLERATION_S = 6 * 3600
"""How long a training pod waits for its node, seconds. Longer than carriers promise for the repair of a line (4 to 5
hours is what business contracts commonly name), shorter than a night that a job would hang on a dead host."""
DEFAULT_TOLERATION_S = 300
"""What kube-apiserver gives every pod that says nothing itself (``--default-unreachable-toleration-seconds``)."""
CUT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of nodes that do not answer."""


class TrainingPods(ComponentResource):
    """The policy and where it holds: everywhere."""

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
    """Whether a pod is one of those (CEL)."""
    classes = ", ".join(f"'{one.name}'" for one in TRAINING_CLASSES)
    label = f"object.metadata.?labels['{LABEL}'].orValue('')"
    return f"{label} == 'true' || ({label} != 'false' && object.spec.?priorityClassName.orValue('') in [{classes}])"


def mutation() -> str:
    """The patch (CEL): the API server's own tolerations of a cut, and only those, become longer.

    They are there by now: the plugin that adds them comes before policies (k8s.io/kubernetes,
    ``pkg/kubeapiserver/options/plugins.go``). They are changed in their places: of two tolerations of one taint the
    shorter counts, and kube-apiserver 1.36 panics on a patch whose value is a list of objects.
    """
    taints = ", ".join(f"'{one}'" for one in CUT)
    default = (
        f"t.?key.orValue('') in [{taints}] && t.?effect.orValue('') == 'NoExecute' "
        f"&& t.?tolerationSeconds.orValue(0) == {DEFAULT_TOLERATION_S}"
    )
    path = "'/spec/tolerations/' + string(i) + '/tolerationSeconds'"
    patch = f"JSONPatch{{op: 'replace', path: {path}, value: {TOLERATION_S}}}"
    return f"object.spec.?tolerations.orValue([]).transformList(i, t, {default}, {patch})"
