"""Permissions of administrators, of nodes that join, of nodes, of the API servers towards kubelets, of the node
controller and of the join service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.rbac.v1 import ClusterRoleBinding, Role, RoleBinding

from components.model.secrets.certificates import ADMINISTRATORS_GROUP, KUBELET_CLIENTS, NODE_CONTROLLER
from components.objects.admission import refuse
from components.objects.object_metadata import meta
from components.objects.program_permissions import RBAC, grant
from contract.documents.node_controller import CONFIGMAP
from contract.labels import HOST_LABEL
from contract.object_names import AUTHORITIES_CONFIGMAP, LOOKED_AT, NODE_CONTROLLER_LEASE, SYSTEM_NAMESPACE
from contract.users import BOOTSTRAPPERS, JOIN_USER, NODES_GROUP

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

PART = "access"
ONE_TIME = "bootstrap.kubernetes.io/token"
"""Type of the Secrets that hold bootstrap tokens. Kubernetes reads them only in ``kube-system``."""

AUTHORITIES = "longhaul:node-authorities"
"""Role with which nodes read the authorities of API servers."""
AUTHORITIES_RULE: PolicyRuleArgsDict = {
    "api_groups": [""],
    "resources": ["configmaps"],
    "resource_names": [AUTHORITIES_CONFIGMAP],
    "verbs": ["get"],
}


NODE_LEASES = "kube-node-lease"
"""Namespace of the leases with which kubelets report that they are alive."""

CLUSTER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    # Refused requests are deleted, so that a kubelet can request again.
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["get", "list", "watch", "delete"],
    },
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests/approval"],
        "verbs": ["update"],
    },
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["signers"],
        "resource_names": ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"],
        "verbs": ["approve"],
    },
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch", "delete"]},
    # To see whether a lost node's pods have been moved.
    {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]},
)
"""Permissions of the node controller in the whole cluster."""

EVENT_RULES: tuple[PolicyRuleArgsDict, ...] = ({"api_groups": [""], "resources": ["events"], "verbs": ["create"]},)

SYSTEM_RULES: tuple[PolicyRuleArgsDict, ...] = (
    *EVENT_RULES,
    # The right to create cannot be limited to a name.
    {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resource_names": [NODE_CONTROLLER_LEASE],
        "verbs": ["get", "patch"],
    },
    {
        "api_groups": [""],
        "resources": ["configmaps"],
        "resource_names": [CONFIGMAP],
        "verbs": ["get", "list", "watch"],
    },
    # Tokens of hosts are deleted after use. Their names are random, and a role cannot match prefixes of names:
    # TOKENS_ALONE limits the right to these Secrets. The controller reads none: a token's groups say which host it
    # belongs to.
    {"api_groups": [""], "resources": ["secrets"], "verbs": ["delete"]},
    {"api_groups": [""], "resources": ["configmaps"], "resource_names": [LOOKED_AT], "verbs": ["patch"]},
)
"""Permissions of the node controller in ``kube-system``."""

TOKENS_ALONE = (
    f"oldObject.type == '{ONE_TIME}' && has(oldObject.metadata.labels) && '{HOST_LABEL}' in oldObject.metadata.labels"
)
"""Condition in CEL for a Secret that the node controller may delete: a token of a host. A Secret's type cannot be
changed (kubernetes, pkg/apis/core/validation, ``ValidateSecretUpdate``)."""

NAMESPACE_RULES: dict[str, tuple[PolicyRuleArgsDict, ...]] = {
    SYSTEM_NAMESPACE: SYSTEM_RULES,
    # Events about objects without a namespace are written here.
    "default": EVENT_RULES,
    NODE_LEASES: ({"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},),
}
"""Permissions of the node controller in each namespace."""


JOIN_CLUSTER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    # Makes requests and sees their outcome, but approves none.
    {"api_groups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get"]},
)
"""Permissions of the join service in the whole cluster."""

JOIN_NAMESPACE_RULES: dict[str, tuple[PolicyRuleArgsDict, ...]] = {
    SYSTEM_NAMESPACE: (
        {"api_groups": [""], "resources": ["configmaps"], "resource_names": [CONFIGMAP], "verbs": ["get"]},
    ),
    "default": EVENT_RULES,
}
"""Permissions of the join service in each namespace."""


def tokens_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the admission policy that lets the node controller delete tokens of hosts, and no other Secret."""
    return {
        "match_constraints": {
            "resource_rules": [
                {"api_groups": [""], "api_versions": ["v1"], "operations": ["DELETE"], "resources": ["secrets"]}
            ]
        },
        "match_conditions": [
            {"name": "node-controller", "expression": f"request.userInfo.username == '{NODE_CONTROLLER}'"}
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": TOKENS_ALONE,
                "message": "the node controller deletes one-time tokens of hosts and no other Secret",
                "reason": "Forbidden",
            }
        ],
    }


class NodeAccess(ComponentResource):
    """All permissions that nodes need to join and work, and those of administrators."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:NodeAccess", name, None, opts)
        self._child = ResourceOptions(parent=self)
        self._bind_group(ADMINISTRATORS_GROUP, ADMINISTRATORS_GROUP, "cluster-admin")
        # Makes certificate requests and sees their outcome.
        self._bind_group("longhaul:node-bootstrappers", BOOTSTRAPPERS, "system:node-bootstrapper")
        self._bind_group("longhaul:node-proxiers", NODES_GROUP, "system:node-proxier")
        self._authorities()
        self._bind_group("longhaul:kubelet-clients", KUBELET_CLIENTS, "system:kubelet-api-admin")
        # An API server's machine asks its own server which encryption keys the server uses.
        self._bind_group("longhaul:api-servers-metrics", KUBELET_CLIENTS, "system:monitoring")
        # A policy keeps the node controller from all Secrets except the tokens of hosts.
        limit = refuse("longhaul-node-controller-tokens", tokens_policy(), part=PART, parent=self)
        grant(NODE_CONTROLLER, CLUSTER_RULES, NAMESPACE_RULES, part=PART, parent=self, limits=[limit])
        grant(JOIN_USER, JOIN_CLUSTER_RULES, JOIN_NAMESPACE_RULES, part=PART, parent=self)
        self.register_outputs({})

    def _authorities(self) -> None:
        """Let nodes read the authorities of API servers. The Node authorizer lets a node read a ConfigMap only for the
        node's pods."""
        metadata = meta(AUTHORITIES, part=PART, namespace=SYSTEM_NAMESPACE)
        role = Role(AUTHORITIES, metadata=metadata, rules=[AUTHORITIES_RULE], opts=self._child)
        RoleBinding(
            f"{AUTHORITIES}-binding",
            metadata=metadata,
            role_ref={"api_group": RBAC, "kind": "Role", "name": AUTHORITIES},
            subjects=[{"kind": "Group", "name": NODES_GROUP, "api_group": RBAC}],
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )

    def _bind_group(self, name: str, group: str, role: str) -> None:
        ClusterRoleBinding(
            name,
            metadata=meta(name, part=PART),
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": role},
            subjects=[{"kind": "Group", "name": group, "api_group": RBAC}],
            opts=self._child,
        )
