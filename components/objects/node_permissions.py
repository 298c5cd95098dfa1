"""The list of what a node's certificate may write in the API. Everything else is refused, whatever a role allows.

Kubernetes' own rules for nodes (k8s.io/kubernetes 1.36, ``NodeRules`` of ``plugin/pkg/auth/authorizer/rbac`` and
``plugin/pkg/admission/noderestriction``) leave more to a node than kubelets and our own programs need: pods with any
labels in any namespace, which become endpoints of any Service; finalizers, which keep a Node and its pods after their
deletion; and every annotation of its Node. This policy lists what they need:

- the objects and operations of :data:`ALLOWED`. NodeRestriction limits most of them to the node's own objects;
- no finalizers, and no owners except the node's own Node, of which its lease and its CSINode are parts;
- the annotations of its Node in :data:`ANNOTATIONS`. Of the Node's spec it sets its provider's id, taints and a cordon
  when it registers, and only the cordon later, which it cannot lift;
- the status of its pods and of its Node, with addresses of nodes and pods of this environment, and no other metadata.

A kubelet shows pods of its own files to the API as mirror pods. No machine of ours has such files, so none are allowed.
Kubernetes shows reviews of tokens and of access to no policy (``pkg/kubeapiserver/admission/exclusion``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.objects.admission import refuse
from components.objects.node_labels import FROM_A_NODE, LIFTS, NEW_NOTES, OLD_NOTES, changed
from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT, GPU_BOOT
from contract.users import CLIENT_SIGNER, NODE_USER, SERVING_SIGNER

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict, VariableArgsDict

    from components.model import AddressPlan

PART = "node-permissions"
POLICY = "longhaul-nodes"

LEASES, CSI_NODES = "leases.coordination.k8s.io", "csinodes.storage.k8s.io"
REQUESTS = "certificatesigningrequests.certificates.k8s.io"
ALLOWED = {
    "nodes": ("CREATE", "UPDATE"),
    "nodes/status": ("UPDATE",),
    # Of pods that have ended on the node.
    "pods": ("DELETE",),
    "pods/status": ("UPDATE",),
    # By the watch for interruptions, and by the kubelet when the node is short of something.
    "pods/eviction": ("CREATE",),
    # Tokens of the accounts of its pods.
    "serviceaccounts/token": ("CREATE",),
    # After a volume was resized.
    "persistentvolumeclaims/status": ("UPDATE",),
    # kube-proxy has the kubelet's certificate, and writes the newer kind.
    "events": ("CREATE", "UPDATE"),
    "events.events.k8s.io": ("CREATE", "UPDATE"),
    LEASES: ("CREATE", "UPDATE"),
    CSI_NODES: ("CREATE", "UPDATE", "DELETE"),
    REQUESTS: ("CREATE",),
    # At its start the kubelet deletes what earlier drivers of the node have left.
    "resourceslices.resource.k8s.io": ("DELETE",),
}
"""Operations that kubelets, kube-proxy and our programs on nodes need, by resource."""
ANNOTATIONS = (
    "volumes.kubernetes.io/controller-managed-attach-detach",
    "volumes.kubernetes.io/keep-terminated-pod-volumes",
    "csi.volume.kubernetes.io/nodeid",
    "alpha.kubernetes.io/provided-node-ip",
    AUTHORITIES,
    AUTHORITIES_BOOT,
    GPU_BOOT,
)
"""Annotations of a Node that its kubelet writes (k8s.io/kubernetes 1.36, ``pkg/kubelet``,
``pkg/volume/csi/nodeinfomanager``), and our programs on it."""
REGISTERED = ("providerID", "taints", "unschedulable")
"""Fields of a Node's spec that a kubelet sets when it registers. NodeRestriction keeps it from changing taints later,
and the API the provider's id."""
SIGNERS = (CLIENT_SIGNER, SERVING_SIGNER)

REFUSAL = "a node may not"
FINALIZERS = "a node may not change finalizers"
OWNERS = "a node may not change owners of objects, and owns only its lease and its CSINode"
NOTED = "a node may not change these annotations of its own"
SPEC = "a node may not set these fields of its own spec"
UNCORDONED = "a node may not lift its own cordon"
METADATA = "a node may not change metadata of its pods"
ADDRESSES = "no node and no pod of the environment has these addresses"
SIGNED = "a node asks for certificates of kubelets only"

OPERATION, UPDATED = "request.operation", "request.operation == 'UPDATE'"
WHAT, SUBRESOURCE = "variables.what", "request.?subResource.orValue('')"


class NodePermissions(ComponentResource):
    """The policy and its binding."""

    def __init__(self, name: str, addresses: AddressPlan, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NodePermissions", name, None, opts)
        refuse(POLICY, policy(addresses), part=PART, parent=self)
        self.register_outputs({})


def policy(addresses: AddressPlan) -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy for nodes with the addresses of a plan."""
    condition = f"({FROM_A_NODE}) || request.userInfo.?username.orValue('').startsWith('{NODE_USER}')"
    verbs = f"{OPERATION}.lowerAscii() + ' ' + {WHAT}"
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": ["*"], "api_versions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
            ]
        },
        "match_conditions": [{"name": "from-a-node", "expression": condition}],
        "variables": _variables(addresses),
        "failure_policy": "Fail",
        "validations": [
            {"expression": expression, "message_expression": message, "reason": "Forbidden"}
            for expression, message in (
                ("variables.allowed", f"'{REFUSAL} ' + {verbs}"),
                (_unchanged("finalizers"), f"'{FINALIZERS}'"),
                (f"{_unchanged('ownerReferences')} || variables.owned", f"'{OWNERS}'"),
                _empty("annotations", NOTED),
                _empty("spec", SPEC),
                (f"!({WHAT} == 'nodes' && {UPDATED}) || !{LIFTS}", f"'{UNCORDONED}'"),
                _empty("metadata", METADATA),
                _empty("addresses", ADDRESSES),
                (f"{WHAT} != '{REQUESTS}' || object.spec.signerName in {_list(SIGNERS)}", f"'{SIGNED}'"),
            )
        ],
    }


def _variables(addresses: AddressPlan) -> list[VariableArgsDict]:
    group = "(request.resource.group == '' ? '' : '.' + request.resource.group)"
    subresource = f"({SUBRESOURCE} == '' ? '' : '/' + {SUBRESOURCE})"
    allowed = ", ".join(f"'{resource}': {_list(operations)}" for resource, operations in ALLOWED.items())
    owners = "object.?metadata.?ownerReferences.orValue([])"
    owned = (
        f"{WHAT} in ['{LEASES}', '{CSI_NODES}'] && {owners}.all(o, o.apiVersion == 'v1' && o.kind == 'Node' "
        "&& o.name == variables.node && !o.?blockOwnerDeletion.orValue(false))"
    )
    spec_keys = f"({UPDATED} ? ['taints', 'unschedulable'] : {_list(REGISTERED)})"
    expressions = {
        "node": f"request.userInfo.?username.orValue('').replace('{NODE_USER}', '', 1)",
        "what": f"request.resource.resource + {subresource} + {group}",
        "allowed": f"{OPERATION} in {{{allowed}}}[?{WHAT}].orValue([])",
        "owned": owned,
        "old_notes": f"{UPDATED} ? {OLD_NOTES} : {{}}",
        "new_notes": NEW_NOTES,
        "annotations": _unlisted("notes", _list(ANNOTATIONS), "nodes", "nodes/status"),
        "old_spec": f"{UPDATED} ? oldObject.?spec.orValue({{}}) : {{}}",
        "new_spec": "object.?spec.orValue({})",
        "spec": _unlisted("spec", spec_keys, "nodes"),
        "metadata": f"{_writes('pods/status')} ? {_changed_metadata()} : []",
        "addresses": _foreign_addresses(addresses),
    }
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _writes(*resources: str) -> str:
    """Return the condition (CEL) that the request makes or changes one of these."""
    return f"({WHAT} in {_list(resources)} && {OPERATION} in ['CREATE', 'UPDATE'])"


def _unlisted(part: str, listed: str, *resources: str) -> str:
    """Return the list (CEL) of the keys that a request changes in a part of one of these, and that are not in the list
    ``listed`` (CEL)."""
    changes = changed(f"variables.old_{part}", f"variables.new_{part}")
    return f"{_writes(*resources)} ? {changes}.filter(k, !(k in {listed})) : []"


def _changed_metadata() -> str:
    """Return the list (CEL) of the parts of a pod's metadata that a request changes."""
    return " + ".join(
        f"(object.metadata.?{part} == oldObject.metadata.?{part} ? [] : ['{part}'])"
        for part in ("labels", "annotations", "ownerReferences")
    )


def _unchanged(part: str) -> str:
    """Return the condition (CEL) that a request leaves a list of an object's metadata as it is; empty at first."""
    before = f"({UPDATED} ? oldObject.?metadata.?{part}.orValue([]) : [])"
    return f"{OPERATION} == 'DELETE' || object.?metadata.?{part}.orValue([]) == {before}"


def _foreign_addresses(addresses: AddressPlan) -> str:
    """Return the list (CEL) of new addresses in a status that no node and no pod can have: those outside of the
    environment, and those of its services, its control plane and its gateways. No policy can look up the range of a
    single node."""
    elsewhere = [addresses.services, addresses.operators, addresses.laptops]
    elsewhere += [site.infra for site in addresses.sites.values()]
    others = " || ".join(f"cidr('{range_}').containsIP(a)" for range_ in elsewhere)
    is_possible = f"isIP(a) && cidr('{addresses.supernet}').containsIP(a) && !({others})"
    nodes, pods = _writes("nodes", "nodes/status"), _writes("pods/status")
    new, old = (
        f"({pods} ? {_pod_addresses(side)} : {nodes} ? {_node_addresses(side)} : [])"
        for side in ("object", "oldObject")
    )
    return f"{new}.filter(a, a != '' && !({is_possible}) && !({UPDATED} && a in {old}))"


def _pod_addresses(side: str) -> str:
    lists = [f"{side}.?status.?{part}.orValue([]).map(i, i.?ip.orValue(''))" for part in ("podIPs", "hostIPs")]
    return " + ".join([*lists, f"[{side}.?status.?hostIP.orValue('')]"])


def _node_addresses(side: str) -> str:
    return f"{side}.?status.?addresses.orValue([]).filter(i, i.type != 'Hostname').map(i, i.address)"


def _empty(variable: str, message: str) -> tuple[str, str]:
    """Return the condition and the message (CEL) for a variable that has to be empty, a list of names."""
    return f"variables.{variable}.size() == 0", f"'{message}: ' + variables.{variable}.join(', ')"


def _list(values: tuple[str, ...]) -> str:
    """Return a list of strings in CEL."""
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"
