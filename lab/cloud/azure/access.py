"""Principals, and the checks of their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.cloud.azure.conditions import parse
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.grants import in_force
from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.roles import OWNER, RoleDefinition, role_of
from lab.cloud.store import DocumentStore


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Bearer of a token."""

    object_id: str
    app_id: str
    tenant: str


def roles_at(store: DocumentStore, *, principal_id: str, scope: str) -> list[RoleDefinition]:
    """Return the roles that a principal has on a scope now, assigned there or on a scope above it."""
    target = scope.strip("/").lower() + "/"
    roles: list[RoleDefinition] = []
    for assignment in store.of_type(ASSIGNMENT_TYPE):
        properties = assignment.body["properties"]
        given_at = properties["scope"].strip("/").lower() + "/"
        if properties["principalId"].lower() == principal_id.lower() and target.startswith(given_at):
            role = role_of(properties["roleDefinitionId"])
            if role and in_force(store, assignment):
                condition = properties.get("condition")
                roles.append(replace(role, condition=parse(condition)) if condition else role)
    return roles


def require(store: DocumentStore, principal: Principal, *, action: str, scope: str) -> None:
    """Refuse a control-plane action that no role allows.

    Raises:
        ArmError: 403 AuthorizationFailed.
    """
    roles = roles_at(store, principal_id=principal.object_id, scope=scope)
    if not any(role.allows(action) for role in roles):
        raise ArmError(
            403,
            "AuthorizationFailed",
            f"The client '{principal.app_id}' with object id '{principal.object_id}' does not have authorization to "
            "perform action "
            f"'{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please "
            "refresh your "
            "credentials.",
        )


def seed_owner(store: DocumentStore, *, principal_id: str, subscription: str) -> None:
    """Make a principal Owner of the subscription, like the user who opened it."""
    scope = f"/subscriptions/{subscription}"
    assignment = f"{scope}/providers/{ASSIGNMENT_TYPE}/00000000-0000-4000-8000-00000000000f"
    if store.get(assignment):
        return
    store.put(
        assignment,
        type=ASSIGNMENT_TYPE,
        body={
            "properties": {
                "principalId": principal_id,
                "principalType": "ServicePrincipal",
                "roleDefinitionId": f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{OWNER}",
                "scope": scope,
            }
        },
    )
