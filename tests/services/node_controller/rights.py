"""Rights that the objects stack gives to the node controller, the join endpoint, racks' tokens and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.model.secrets.certificates import NODE_CONTROLLER
from components.objects.node_and_program_rbac import (
    AUTHORITIES,
    AUTHORITIES_RULE,
    CLUSTER_RULES,
    JOIN_CLUSTER_RULES,
    JOIN_NAMESPACE_RULES,
    NAMESPACE_RULES,
)
from components.objects.program_permissions import RBAC
from contract.object_names import SYSTEM_NAMESPACE
from contract.users import BOOTSTRAPPERS, JOIN_USER, NODES_GROUP

PATH = f"/apis/{RBAC}/v1"
_KEYS = {"api_groups": "apiGroups", "resource_names": "resourceNames"}


def rights() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with the path that it is posted to."""
    tokens = {"apiGroup": RBAC, "kind": "Group", "name": BOOTSTRAPPERS}
    bootstrapper = _binding("ClusterRoleBinding", "system:node-bootstrapper", "ClusterRole", tokens)
    yield f"{PATH}/clusterrolebindings", bootstrapper
    yield from _program(NODE_CONTROLLER, CLUSTER_RULES, NAMESPACE_RULES)
    yield from _program(JOIN_USER, JOIN_CLUSTER_RULES, JOIN_NAMESPACE_RULES)
    nodes = {"apiGroup": RBAC, "kind": "Group", "name": NODES_GROUP}
    yield f"{PATH}/namespaces/{SYSTEM_NAMESPACE}/roles", _role("Role", AUTHORITIES, [AUTHORITIES_RULE])
    yield f"{PATH}/namespaces/{SYSTEM_NAMESPACE}/rolebindings", _binding("RoleBinding", AUTHORITIES, "Role", nodes)


def _program(
    user: str, everywhere: Iterable[Any], inside: Mapping[str, Iterable[Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    subject = {"apiGroup": RBAC, "kind": "User", "name": user}
    yield f"{PATH}/clusterroles", _role("ClusterRole", user, everywhere)
    yield f"{PATH}/clusterrolebindings", _binding("ClusterRoleBinding", user, "ClusterRole", subject)
    for namespace, rules in inside.items():
        yield f"{PATH}/namespaces/{namespace}/roles", _role("Role", user, rules)
        yield f"{PATH}/namespaces/{namespace}/rolebindings", _binding("RoleBinding", user, "Role", subject)


def _role(kind: str, name: str, rules: Iterable[Any]) -> dict[str, Any]:
    plain = [{_KEYS.get(key, key): list(value) for key, value in rule.items()} for rule in rules]
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name}, "rules": plain}


def _binding(kind: str, role: str, role_kind: str, subject: dict[str, str]) -> dict[str, Any]:
    reference = {"apiGroup": RBAC, "kind": role_kind, "name": role}
    metadata = {"name": f"test:{role}"}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": [subject]}
