"""The list of what a node's certificate may write in the API. Everything else is refused, also if a role allows it.

Kubernetes' own rules for nodes (k8s.io/kubernetes 1.36, ``NodeRules`` of ``plugin/pkg/auth/authorizer/rbac`` and
``plugin/pkg/admission/noderestriction``) leave more to a node than kubelets and our own programs need: pods with any
labels in any namespace, which become endpoints of any Service; finalizers, which keep a Node and its pods after their
deletion; and every annotation of its Node. Two policies list what they need:

- the objects and operations of :data:`ALLOWED`. NodeRestriction limits most of them to the node's own objects;
- no finalizers, and no owners except the node's own Node, of which its lease and its CSINode are parts, and a pod for
  which it asks for a certificate;
- requests for certificates that are short, since the API keeps them for long;
- the annotations of its Node in :data:`ANNOTATIONS`. Of the Node's spec it sets its provider's id, taints and a cordon
  when it registers, and only the cordon later, which it cannot lift;
- the status of its pods and of its Node, with addresses of nodes and pods of this environment, and no other metadata.

A kubelet shows pods of its own files to the API as mirror pods. No machine of ours has such files, so none are allowed.
Kubernetes shows no policy reviews of tokens and of access (``pkg/kubeapiserver/admission/exclusion``), nor policies and
their bindings.

Nodes write their leases and statuses often. So what is right costs one evaluation: the condition under which a policy
applies is that a node breaks a rule. An API server evaluates all of a policy's messages whenever it applies
(k8s.io/apiserver 0.36, ``pkg/admission/plugin/policy/validating/validator.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.objects.admission import refuse
from components.objects.node_labels import FROM_A_NODE, LIFTS, NEW_NOTES, OLD_NOTES, changed
from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT, GPU_BOOT
from contract.users import CLIENT_SIGNER, NODE_USER, SERVING_SIGNER

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )

    from components.model import AddressPlan

PART = "node-permissions"
UNLISTED, OBJECTS = "longhaul-nodes", "longhaul-node-objects"
"""Names of the policies: one refuses requests that are not in the list, the other looks into objects of the list."""

LEASES, CSI_NODES = "leases.coordination.k8s.io", "csinodes.storage.k8s.io"
REQUESTS, POD_REQUESTS = "certificatesigningrequests.certificates.k8s.io", "podcertificaterequests.certificates.k8s.io"
EVENTS = ("events", "events.events.k8s.io")
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
    **dict.fromkeys(EVENTS, ("CREATE", "UPDATE")),
    LEASES: ("CREATE", "UPDATE"),
    CSI_NODES: ("CREATE", "UPDATE", "DELETE"),
    REQUESTS: ("CREATE",),
    # For certificates in volumes of its pods, by default from Kubernetes 1.37 on.
    POD_REQUESTS: ("CREATE",),
    # At its start the kubelet deletes what earlier drivers of the node have left.
    "resourceslices.resource.k8s.io": ("DELETE",),
}
"""Operations that kubelets, kube-proxy and our programs on nodes need, by resource."""
LOOKED_INTO = ("nodes", "nodes/status", "pods/status", LEASES, CSI_NODES, REQUESTS, POD_REQUESTS, *EVENTS)
"""Resources of the list whose objects could have more than nodes may write. NodeRestriction compares a claim itself,
and requests for tokens and evictions are not stored."""
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
LARGEST_REQUEST = 8192
"""Largest request for a certificate, characters of Base64: several times a kubelet's. The API keeps a request for an
hour to a day, so large ones would soon fill etcd."""

REFUSAL = "a node may not"
FINALIZERS = "a node may not change finalizers"
OWNERS = "a node may not change owners of objects; it owns its lease and its CSINode"
NOTED = "a node may not change these annotations of its own"
SPEC = "a node may not set these fields of its own spec"
UNCORDONED = "a node may not lift its own cordon"
METADATA = "a node may not change metadata of its pods"
ADDRESSES = "no node and no pod of the environment has these addresses"
SIGNED = "a node asks for certificates of kubelets only"
SMALL = "a request of a node for a certificate is short, and has no labels and annotations"

OPERATION, UPDATED = "request.operation", "request.operation == 'UPDATE'"
RESOURCE, SUBRESOURCE = "request.resource.resource", "request.?subResource.orValue('')"
BY_A_NODE = f"({FROM_A_NODE} || request.userInfo.?username.orValue('').startsWith('{NODE_USER}'))"


class NodePermissions(ComponentResource):
    """The policies and their bindings."""

    def __init__(self, name: str, addresses: AddressPlan, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NodePermissions", name, None, opts)
        refuse(UNLISTED, unlisted_policy(), part=PART, parent=self)
        refuse(OBJECTS, objects_policy(addresses), part=PART, parent=self)
        self.register_outputs({})


def unlisted_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses nodes' requests that are not in :data:`ALLOWED`."""
    group = "(request.resource.group == '' ? '' : '.' + request.resource.group)"
    what = f"{RESOURCE} + ({SUBRESOURCE} == '' ? '' : '/' + {SUBRESOURCE}) + {group}"
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": ["*"], "api_versions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
            ],
            "exclude_resource_rules": _listed(ALLOWED),
        },
        "match_conditions": [{"name": "by-a-node", "expression": BY_A_NODE}],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": "false",
                "message_expression": f"'{REFUSAL} ' + {OPERATION}.lowerAscii() + ' ' + {what}",
                "reason": "Forbidden",
            }
        ],
    }


def objects_policy(addresses: AddressPlan) -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses parts of objects that nodes may not write, with the addresses of a plan."""
    breaches = _breaches(addresses)
    return {
        "match_constraints": {"resource_rules": _listed(LOOKED_INTO)},
        "match_conditions": [
            {"name": "a-node-breaks-a-rule", "expression": f"{BY_A_NODE} && ({' || '.join(breaches)})"}
        ],
        "failure_policy": "Fail",
        "validations": [
            {"expression": f"!({breach})", "message_expression": message, "reason": "Forbidden"}
            for breach, message in breaches.items()
        ],
    }


def _listed(resources: Iterable[str]) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for the operations that nodes may do with these resources."""
    return [
        {
            "api_groups": [resource.partition(".")[2]],
            "api_versions": ["*"],
            "operations": [*ALLOWED[resource]],
            "resources": [resource.partition(".")[0]],
        }
        for resource in resources
    ]


def _breaches(addresses: AddressPlan) -> dict[str, str]:
    """Return the message (CEL) for each condition (CEL) under which a node breaks a rule."""
    node, of_node, pod = (
        f"{RESOURCE} == 'nodes'",
        f"{RESOURCE} == 'nodes' && {SUBRESOURCE} == ''",
        f"{RESOURCE} == 'pods'",
    )
    owners = "object.metadata.?ownerReferences.orValue([])"
    harmless = "o.apiVersion == 'v1' && !o.?blockOwnerDeletion.orValue(false)"
    of_node_alone = (
        f"{owners}.all(o, {harmless} && o.kind == 'Node' && '{NODE_USER}' + o.name == request.userInfo.username)"
    )
    of_pod_alone = f"{owners}.all(o, {harmless} && o.kind == 'Pod' && o.uid == object.spec.podUID)"
    owned = (
        f"({RESOURCE} in ['leases', 'csinodes'] && {of_node_alone} || "
        f"{RESOURCE} == 'podcertificaterequests' && {of_pod_alone})"
    )
    old_notes = f"({UPDATED} ? {OLD_NOTES} : {{}})"
    notes = f"{changed(old_notes, NEW_NOTES)}.filter(k, !(k in {_list(ANNOTATIONS)}))"
    old_spec, new_spec = f"({UPDATED} ? oldObject.?spec.orValue({{}}) : {{}})", "object.?spec.orValue({})"
    fields = f"({UPDATED} ? ['taints', 'unschedulable'] : {_list(REGISTERED)})"
    spec = f"{changed(old_spec, new_spec)}.filter(k, !(k in {fields}))"
    signing = f"{RESOURCE} == 'certificatesigningrequests'"
    metadata = " + ".join(
        f"(object.metadata.?{part} == oldObject.metadata.?{part} ? [] : ['{part}'])"
        for part in ("labels", "annotations")
    )
    return {
        f"{OPERATION} != 'DELETE' && ({_changes('finalizers')})": f"'{FINALIZERS}'",
        f"{OPERATION} != 'DELETE' && ({_changes('ownerReferences')}) && !{owned}": f"'{OWNERS}'",
        f"{node} && {NEW_NOTES} != {old_notes} && {notes}.size() > 0": _naming(NOTED, notes),
        f"{of_node} && {new_spec} != {old_spec} && {spec}.size() > 0": _naming(SPEC, spec),
        f"{of_node} && {UPDATED} && {LIFTS}": f"'{UNCORDONED}'",
        f"{pod} && ({metadata}).size() > 0": _naming(METADATA, f"({metadata})"),
        **{
            f"{applies} && {foreign}.size() > 0": _naming(ADDRESSES, foreign)
            for applies, foreign in (
                (node, _foreign(addresses, _node_addresses)),
                (pod, _foreign(addresses, _pod_addresses)),
            )
        },
        f"{signing} && !(object.spec.signerName in {_list(SIGNERS)})": f"'{SIGNED}'",
        f"({signing} && object.spec.request.size() > {LARGEST_REQUEST} || {RESOURCE} in "
        "['certificatesigningrequests', 'podcertificaterequests'] && "
        "(has(object.metadata.labels) || has(object.metadata.annotations)))": f"'{SMALL}'",
    }


def _changes(part: str) -> str:
    """Return the condition (CEL) that a request changes a list of an object's metadata; empty at first."""
    return f"object.metadata.?{part}.orValue([]) != ({UPDATED} ? oldObject.metadata.?{part}.orValue([]) : [])"


def _foreign(addresses: AddressPlan, of: Callable[[str], str]) -> str:
    """Return the list (CEL) of new addresses in a status that no node and no pod can have: those outside of the
    environment, and those of its services, its control plane and its gateways. No policy can look up the range of a
    single node. ``of`` returns the list (CEL) of an object's addresses."""
    elsewhere = [addresses.services, addresses.operators, addresses.laptops]
    elsewhere += [site.infra for site in addresses.sites.values()]
    others = " || ".join(f"cidr('{range_}').containsIP(a)" for range_ in elsewhere)
    is_possible = f"isIP(a) && cidr('{addresses.supernet}').containsIP(a) && !({others})"
    return f"{of('object')}.filter(a, a != '' && !({UPDATED} && a in {of('oldObject')}) && !({is_possible}))"


def _pod_addresses(side: str) -> str:
    lists = [f"{side}.?status.?{part}.orValue([]).map(i, i.?ip.orValue(''))" for part in ("podIPs", "hostIPs")]
    return f"({' + '.join(lists)} + [{side}.?status.?hostIP.orValue('')])"


def _node_addresses(side: str) -> str:
    return f"{side}.?status.?addresses.orValue([]).filter(i, i.type != 'Hostname').map(i, i.address)"


def _naming(message: str, names: str) -> str:
    """Return a message (CEL) that ends with the names of a list (CEL)."""
    return f"'{message}: ' + {names}.join(', ')"


def _list(values: tuple[str, ...]) -> str:
    """Return a list of strings in CEL."""
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"
