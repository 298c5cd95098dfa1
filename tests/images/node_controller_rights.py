"""What the objects stack lets the node controller and bootstrap tokens do, as the API takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from components.objects.rbac import API, BOOTSTRAPPERS, CLUSTER_RULES, NAMESPACE_RULES, NODE_CONTROLLER

PATH = f"/apis/{API}/v1"
_KEYS = {"api_groups": "apiGroups", "resource_names": "resourceNames"}


def rights() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object with the path it is posted to."""
    user = {"apiGroup": API, "kind": "User", "name": NODE_CONTROLLER}
    tokens = {"apiGroup": API, "kind": "Group", "name": BOOTSTRAPPERS}
    yield f"{PATH}/clusterroles", _role("ClusterRole", CLUSTER_RULES)
    yield f"{PATH}/clusterrolebindings", _binding("ClusterRoleBinding", NODE_CONTROLLER, "ClusterRole", user)
    yield (
        f"{PATH}/clusterrolebindings",
        _binding("ClusterRoleBinding", "system:node-bootstrapper", "ClusterRole", tokens),
    )
    for namespace, rules in NAMESPACE_RULES.items():
        yield f"{PATH}/namespaces/{namespace}/roles", _role("Role", rules)
        yield f"{PATH}/namespaces/{namespace}/rolebindings", _binding("RoleBinding", NODE_CONTROLLER, "Role", user)


def _role(kind: str, rules: Iterable[Any]) -> dict[str, Any]:
    plain = [{_KEYS.get(key, key): list(value) for key, value in rule.items()} for rule in rules]
    return {"apiVersion": f"{API}/v1", "kind": kind, "metadata": {"name": NODE_CONTROLLER}, "rules": plain}


def _binding(kind: str, role: str, role_kind: str, subject: dict[str, str]) -> dict[str, Any]:
    reference = {"apiGroup": API, "kind": role_kind, "name": role}
    metadata = {"name": f"test:{role}"}
    return {"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": [subject]}
