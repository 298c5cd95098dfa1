"""Protection of Nodes' labels from the nodes themselves. The labels decide where pods run.

Kubernetes lets a kubelet write most labels of its own Node (k8s.io/kubernetes,
``plugin/pkg/admission/noderestriction``), so whoever controls a node could name another pool, site or zone and draw the
pods that belong there. Three policies of the API servers prevent that:

- A node may change only the few labels of its Node that it alone knows (:func:`own_word_condition`).
- A kubelet compares some labels at each start and writes those that differ (:data:`COMPARED`). A policy puts them
  back and does not refuse the update: a kubelet whose update is refused retries for ever, and reports no status
  meanwhile (``pkg/kubelet/kubelet_node_status.go``, ``tryRegisterWithAPIServer``).
- A Node that a node registers gets a taint and a label as marks. The node controller corrects the Node's labels
  according to the list of its site's machines, and removes both marks. A node cannot remove them: NodeRestriction keeps
  it from changing its taints, and the first policy from changing the label.

The third policy is in force once a node controller has declared, in a ConfigMap, that it looks at new Nodes:
controllers of older images do not, and their Nodes would wait for ever. Administrators and controllers may change every
label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap

from components.objects.admission import NEW_LABELS, OLD_LABELS, mutate, refuse
from components.objects.object_metadata import meta
from contract.labels import (
    GPU_LABEL,
    HOSTNAME_LABEL,
    INTERRUPTED,
    MACHINE_LABELS,
    NVIDIA,
    REGION_LABEL,
    TYPE_LABEL,
    UNCHECKED,
    ZONE_LABEL,
)
from contract.object_names import LOOKED_AT, LOOKED_AT_KEY, SYSTEM_NAMESPACE
from contract.users import NODES_GROUP

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MatchConditionArgsDict,
        MutatingAdmissionPolicySpecArgsDict,
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
        VariableArgsDict,
    )

PART = "node-labels"
KEPT, PUT_BACK, MARK = "longhaul-node-labels", "longhaul-node-labels-put-back", "longhaul-new-nodes"
"""Names of the three policies."""

COMPARED = (
    HOSTNAME_LABEL,
    ZONE_LABEL,
    REGION_LABEL,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    TYPE_LABEL,
    "beta.kubernetes.io/instance-type",
    *MACHINE_LABELS,
)
"""Labels that a kubelet compares (kubernetes 1.36, ``pkg/kubelet/kubelet_node_status.go``, ``updateDefaultLabels``)."""

REFUSAL = "a node may not change these labels of its own"
FROM_A_NODE = f"'{NODES_GROUP}' in request.userInfo.?groups.orValue([])"
CHANGES: MatchConditionArgsDict = {"name": "changes-labels", "expression": f"{OLD_LABELS} != {NEW_LABELS}"}
"""Condition of two policies. Most updates of Nodes change no label."""
OLD_NOTES, NEW_NOTES = (f"{side}.metadata.?annotations.orValue({{}})" for side in ("oldObject", "object"))
LIFTS = "(oldObject.spec.?unschedulable.orValue(false) && !object.spec.?unschedulable.orValue(false))"


class NodeLabels(ComponentResource):
    """The three policies, their bindings, and the node controller's ConfigMap."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NodeLabels", name, None, opts)
        # Only the node controller writes the content.
        ConfigMap(
            LOOKED_AT,
            metadata=meta(LOOKED_AT, part=PART, namespace=SYSTEM_NAMESPACE),
            opts=ResourceOptions(parent=self),
        )
        # The policy that puts labels back is made first: a refusal would stop kubelets.
        put_back = mutate(PUT_BACK, put_back_policy(), part=PART, parent=self)
        # Without the ConfigMap no Node is marked.
        mutate(MARK, mark_policy(), part=PART, parent=self, param={"name": LOOKED_AT, "namespace": SYSTEM_NAMESPACE})
        refuse(KEPT, keep_policy(), part=PART, parent=self, after=[put_back])
        self.register_outputs({})


def keep_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that lets a node change only its own part of its Node's labels."""
    return {
        "match_constraints": {"resource_rules": _nodes("UPDATE")},
        "match_conditions": [_from_a_node(), CHANGES],
        "variables": [
            *_labels(),
            {"name": "refused", "expression": f"variables.changed.filter(k, !({own_word_condition('k')}))"},
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": "variables.refused.size() == 0",
                "message_expression": f"'{REFUSAL}: ' + variables.refused.join(', ')",
                "reason": "Forbidden",
            }
        ],
    }


def put_back_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that puts back the labels that kubelets compare."""
    keys = ", ".join(f"'{key}'" for key in COMPARED)
    path = "'/metadata/labels/' + jsonpatch.escapeKey(k)"
    changed = f"variables.changed.filter(k, k in [{keys}])"
    put = f"JSONPatch{{op: 'add', path: {path}, value: variables.old[k]}}"
    taken = f"JSONPatch{{op: 'remove', path: {path}}}"
    before, added = "k in variables.old", f"!(k in variables.old) && !({_added('k')})"
    patch = f"{changed}.filter(k, {before}).map(k, {put}) + {changed}.filter(k, {added}).map(k, {taken})"
    return {
        "match_constraints": {"resource_rules": _nodes("UPDATE")},
        "match_conditions": [_from_a_node(), CHANGES],
        "variables": _labels(),
        "failure_policy": "Fail",
        "reinvocation_policy": "Never",
        "mutations": [{"patch_type": "JSONPatch", "json_patch": {"expression": patch}}],
    }


def mark_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that marks new Nodes. The list of taints exists by then: the plugin that adds Kubernetes' own
    taints to new Nodes runs before policies (k8s.io/kubernetes, ``pkg/kubeapiserver/options/plugins.go``)."""
    label = f"JSONPatch{{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('{UNCHECKED}'), value: 'true'}}"
    taint = f"{{'key': '{UNCHECKED}', 'value': 'true', 'effect': 'NoSchedule'}}"
    tainted = f"object.spec.taints.exists(t, t.key == '{UNCHECKED}' && t.effect == 'NoSchedule')"
    added = f"{tainted} ? [] : [JSONPatch{{op: 'add', path: '/spec/taints/-', value: {taint}}}]"
    looked_at = f"params.?data[?'{LOOKED_AT_KEY}'].orValue('') == 'true'"
    return {
        "param_kind": {"api_version": "v1", "kind": "ConfigMap"},
        "match_constraints": {"resource_rules": _nodes("CREATE")},
        "match_conditions": [
            _from_a_node(),
            {"name": "looked-at", "expression": looked_at},
        ],
        "failure_policy": "Fail",
        "reinvocation_policy": "Never",
        "mutations": [{"patch_type": "JSONPatch", "json_patch": {"expression": f"[{label}] + ({added})"}}],
    }


def own_word_condition(key: str) -> str:
    """Return the condition (CEL) under which a node may write the label that the variable ``key`` names: that its cloud
    takes it back, a property of its GPUs if it has GPUs, or its operating system or processor if that label is not
    set."""
    has_gpus = f"variables.old[?'{GPU_LABEL}'].orValue('') == 'true'"
    gpus = f"{key}.startsWith('{NVIDIA}') && {key} != '{GPU_LABEL}' && {has_gpus}"
    return f"{key} == '{INTERRUPTED}' || ({gpus}) || ({_added(key)})"


def changed(old: str, new: str) -> str:
    """Return the list (CEL) of the keys whose values differ in two maps."""
    return f"({new}.filter(k, !(k in {old}) || {new}[k] != {old}[k]) + {old}.filter(k, !(k in {new})))"


def _added(key: str) -> str:
    """Return the condition (CEL) that only the machine knows the label that the variable ``key`` names, and that its
    Node lacks that label."""
    machine = ", ".join(f"'{label}'" for label in MACHINE_LABELS)
    return f"{key} in [{machine}] && !({key} in variables.old)"


def _nodes(operation: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for Nodes. Their status is included, because an update of the status can change metadata."""
    resources = ["nodes", "nodes/status"] if operation == "UPDATE" else ["nodes"]
    return [{"api_groups": [""], "api_versions": ["v1"], "operations": [operation], "resources": resources}]


def _from_a_node() -> MatchConditionArgsDict:
    return {"name": "from-a-node", "expression": FROM_A_NODE}


def _labels() -> list[VariableArgsDict]:
    return [
        {"name": "old", "expression": OLD_LABELS},
        {"name": "new", "expression": NEW_LABELS},
        {"name": "changed", "expression": changed("variables.old", "variables.new")},
    ]
