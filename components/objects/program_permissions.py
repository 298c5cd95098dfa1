"""Permissions of a program with a certificate: its user, its roles and their bindings share one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pulumi import Resource, ResourceOptions
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from components.objects.object_metadata import meta

if TYPE_CHECKING:
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict

RBAC = "rbac.authorization.k8s.io"
"""API group of roles and bindings."""


def grant(
    user: str,
    everywhere: Sequence[PolicyRuleArgsDict],
    inside: Mapping[str, Sequence[PolicyRuleArgsDict]],
    *,
    part: str,
    parent: Resource,
    after: Sequence[Resource] = (),
    limits: Sequence[Resource] = (),
) -> None:
    """Grant permissions in the whole cluster, and in each namespace. All roles are made after ``after``; those in
    namespaces also after ``limits``, which narrow them."""
    subject: SubjectArgsDict = {"kind": "User", "name": user, "api_group": RBAC}
    first = ResourceOptions(parent=parent, depends_on=list(after))
    role = ClusterRole(user, metadata=meta(user, part=part), rules=list(everywhere), opts=first)
    ClusterRoleBinding(
        f"{user}-binding",
        metadata=meta(user, part=part),
        role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": user},
        subjects=[subject],
        opts=ResourceOptions(parent=parent, depends_on=[role]),
    )
    for namespace, rules in inside.items():
        metadata = meta(user, part=part, namespace=namespace)
        options = ResourceOptions(parent=parent, depends_on=[*after, *limits])
        local_role = Role(f"{user}-{namespace}", metadata=metadata, rules=list(rules), opts=options)
        RoleBinding(
            f"{user}-{namespace}-binding",
            metadata=metadata,
            role_ref={"api_group": RBAC, "kind": "Role", "name": user},
            subjects=[subject],
            opts=ResourceOptions(parent=parent, depends_on=[local_role]),
        )
