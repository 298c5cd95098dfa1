"""Who may do what: nodes that join, nodes, the API servers towards kubelets, the node controller, the join service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from components.objects.labels import SYSTEM, meta
from components.render.controller import CONFIGMAP

if TYPE_CHECKING:
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict

PART = "access"
API = "rbac.authorization.k8s.io"
BOOTSTRAPPERS = "system:bootstrappers:longhaul"
"""Group of whoever shows a rack host's one-time token."""
NODES = "system:nodes"
"""Group of every kubelet. What kubelets themselves do is the Node authorizer's; kube-proxy uses their certificate."""
KUBELET_CLIENTS = "longhaul:kubelet-clients"
"""Group of the API servers' certificate for kubelets, whose word kubelets have checked."""
NODE_CONTROLLER = "longhaul:node-controller"
"""User of the controller that admits nodes and removes them."""
JOIN_SERVICE = "longhaul:join"
"""User of the service that cloud machines prove themselves to. What it asks for, the node controller decides on."""
LEASE = "longhaul-node-controller"

NODE_LEASES = "kube-node-lease"
"""Where kubelets say that they live."""

CLUSTER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    # Refused requests are taken away, so that a kubelet may ask again.
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["get", "list", "watch", "delete"],
    },
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests/approval", "certificatesigningrequests/status"],
        "verbs": ["update", "patch"],
    },
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["signers"],
        "resource_names": ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"],
        "verbs": ["approve", "sign"],
    },
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch", "delete"]},
    # Whether a lost node's pods have been moved.
    {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]},
)
"""What the node controller does all over the cluster."""

EVENT_RULES: tuple[PolicyRuleArgsDict, ...] = ({"api_groups": [""], "resources": ["events"], "verbs": ["create"]},)

SYSTEM_RULES: tuple[PolicyRuleArgsDict, ...] = (
    *EVENT_RULES,
    # Of a creation it cannot be said which name it is for.
    {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resource_names": [LEASE],
        "verbs": ["get", "update"],
    },
    {
        "api_groups": [""],
        "resources": ["configmaps"],
        "resource_names": [CONFIGMAP],
        "verbs": ["get", "list", "watch"],
    },
    # Racks' tokens: one by one, by the name that a request tells, never a list of them; they are deleted after use.
    {"api_groups": [""], "resources": ["secrets"], "verbs": ["get", "delete"]},
)
"""What it does in ``kube-system``. A role cannot tell one type of Secret from another: keep no others there."""

NAMESPACE_RULES: dict[str, tuple[PolicyRuleArgsDict, ...]] = {
    SYSTEM: SYSTEM_RULES,
    # Where events about what lives in no namespace are.
    "default": EVENT_RULES,
    NODE_LEASES: ({"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},),
}
"""What it does in each namespace."""


JOIN_CLUSTER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    # Makes requests, sees what becomes of them, and approves none.
    {"api_groups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get"]},
)
"""What the join service does all over the cluster."""

JOIN_NAMESPACE_RULES: dict[str, tuple[PolicyRuleArgsDict, ...]] = {
    SYSTEM: ({"api_groups": [""], "resources": ["configmaps"], "resource_names": [CONFIGMAP], "verbs": ["get"]},),
    "default": EVENT_RULES,
}
"""What it does in each namespace."""


class NodeAccess(ComponentResource):
    """Everything that nodes need to join and work."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NodeAccess", name, None, opts)
        self._child = ResourceOptions(parent=self)
        # Makes certificate requests and sees what becomes of them.
        self._bind_group("longhaul:node-bootstrappers", BOOTSTRAPPERS, "system:node-bootstrapper")
        self._bind_group("longhaul:node-proxiers", NODES, "system:node-proxier")
        self._bind_group("longhaul:kubelet-clients", KUBELET_CLIENTS, "system:kubelet-api-admin")
        self._program(NODE_CONTROLLER, CLUSTER_RULES, NAMESPACE_RULES)
        self._program(JOIN_SERVICE, JOIN_CLUSTER_RULES, JOIN_NAMESPACE_RULES)
        self.register_outputs({})

    def _program(
        self,
        user: str,
        everywhere: Sequence[PolicyRuleArgsDict],
        inside: Mapping[str, Sequence[PolicyRuleArgsDict]],
    ) -> None:
        """A program of ours with a certificate: its user, its roles and their bindings have one name."""
        subject: SubjectArgsDict = {"kind": "User", "name": user, "api_group": API}
        role = ClusterRole(user, metadata=meta(user, part=PART), rules=list(everywhere), opts=self._child)
        ClusterRoleBinding(
            f"{user}-binding",
            metadata=meta(user, part=PART),
            role_ref={"api_group": API, "kind": "ClusterRole", "name": user},
            subjects=[subject],
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )
        for namespace, rules in inside.items():
            self._in_namespace(namespace, rules, subject)

    def _in_namespace(self, namespace: str, rules: Sequence[PolicyRuleArgsDict], subject: SubjectArgsDict) -> None:
        user = str(subject["name"])
        metadata = meta(user, part=PART, namespace=namespace)
        role = Role(f"{user}-{namespace}", metadata=metadata, rules=list(rules), opts=self._child)
        RoleBinding(
            f"{user}-{namespace}-binding",
            metadata=metadata,
            role_ref={"api_group": API, "kind": "Role", "name": user},
            subjects=[subject],
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )

    def _bind_group(self, name: str, group: str, role: str) -> None:
        ClusterRoleBinding(
            name,
            metadata=meta(name, part=PART),
            role_ref={"api_group": API, "kind": "ClusterRole", "name": role},
            subjects=[{"kind": "Group", "name": group, "api_group": API}],
            opts=self._child,
        )
