"""Rights that the objects stack gives to the node controller, the join endpoint, racks' tokens and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.model.secrets.certificates import JOIN_USER, NODE_CONTROLLER
from components.objects.labels import SYSTEM
from components.objects.rbac import (
    API,
    AUTHORITIES,
    AUTHORITIES_RULE,
    BOOTSTRAPPERS,
    CLUSTER_RULES,
    JOIN_CLUSTER_RULES,
    JOIN_NAMESPACE_RULES,
    NAMESPACE_RULES,
    NODES,
)

PATH = f"/apis/{API}/v1"
_KEYS = {"api_groups": "apiGroups", "resource_names": "resourceNames"}


def rights() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with the path that it is posted to."""
    tokens = {"apiGroup": API, "kind": "Group", "name": BOOTSTRAPPERS}
    bootstrapper = _binding("ClusterRoleBinding", "system:node-bootstrapper", "ClusterRole", tokens)
    yield f"{PATH}/clusterrolebindings", bootstrapper
    yield from _program(NODE_CONTROLLER, CLUSTER_RULES, NAMESPACE_RULES)
    yield from _program(JOIN_USER, JOIN_CLUSTER_RULES, JOIN_NAMESPACE_RULES)
    nodes = {"apiGroup": API, "kind": "Group", "name": NODES}
    yield f"{PATH}/namespaces/{SYSTEM}/roles", _role("Role", AUTHORITIES, [AUTHORITIES_RULE])
    yield f"{PATH}/namespaces/{SYSTEM}/rolebindings", _binding("RoleBinding", AUTHORITIES, "Role", nodes)


def _program(
    user: str, everywhere: Iterable[Any], inside: Mapping[str, Iterable[Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    subject = {"apiGroup": API, "kind": "User", "name": user}
    yield f"{PATH}/clusterroles", _role("ClusterRole", user, everywhere)
    yield f"{PATH}/clusterrolebindings", _binding("ClusterRoleBinding", user, "ClusterRole", subject)
    for namespace, rules in inside.items():
        yield f"{PATH}/namespaces/{namespace}/roles", _role("Role", user, rules)
        yield f"{PATH}/namespaces/{namespace}/rolebindings", _binding("RoleBinding", user, "Role", subject)


def _role(kind: str, name: str, rules: Iterable[Any]) -> dict[str, Any]:
    plain = [{_KEYS.get(key, key): list(value) for key, value in rule.items()} for rule in rules]
    return {"apiVersion": f"{API}/v1", "kind": kind, "metadata": {"name": name}, "rules": plain}


def _binding(kind: str, role: str, role_kind: str, subject: dict[str, str]) -> dict[str, Any]:
    reference = {"apiGroup": API, "kind": role_kind, "name": role}
    metadata = {"name": f"test:{role}"}
    return {"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": [subject]}
