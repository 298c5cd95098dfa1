"""Principals, and the checks of their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clouds.azure.roles import ASSIGNED, READER
from lab.cloud.azure.conditions import PRESENT_ROLE, REQUESTED_ROLE, Operation, parse
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.grants import in_force
from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.roles import OPERATOR, RoleDefinition, role_of
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


def require(
    store: DocumentStore, principal: Principal, *, action: str, scope: str, assignment: Operation | None = None
) -> None:
    """Refuse a control-plane action that no role allows. ``assignment`` has the attributes of a change of a role
    assignment.

    Raises:
        ArmError: 403 AuthorizationFailed.
    """
    roles = roles_at(store, principal_id=principal.object_id, scope=scope)
    if not any(role.allows_assignment(assignment) if assignment else role.allows(action) for role in roles):
        raise ArmError(
            403,
            "AuthorizationFailed",
            f"The client '{principal.app_id}' with object id '{principal.object_id}' does not have authorization to "
            "perform action "
            f"'{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please "
            "refresh your "
            "credentials.",
        )


def operator_condition() -> str:
    """Return the condition with which the operator's role is assigned (docs/getting-started.md)."""
    guids = f"ForAnyOfAnyValues:GuidEquals {{{', '.join(ASSIGNED)}}}"
    changes = (("write", REQUESTED_ROLE), ("delete", PRESENT_ROLE))
    return " AND ".join(
        f"((!(ActionMatches{{'{ASSIGNMENT_TYPE}/{verb}'}})) OR ({role} {guids}))" for verb, role in changes
    )


def seed_operator(store: DocumentStore, *, principal_id: str, subscription: str) -> None:
    """Assign the roles that the page on real accounts asks for: the operator's own, and Reader, which the doctor
    needs. A right that these lack is missing in the lab as in Azure."""
    scope = f"/subscriptions/{subscription}"
    conditions = {OPERATOR: {"condition": operator_condition(), "conditionVersion": "2.0"}, READER: {}}
    for number, (role, condition) in enumerate(conditions.items()):
        assignment = f"{scope}/providers/{ASSIGNMENT_TYPE}/00000000-0000-4000-8000-0000000000f{number}"
        if store.get(assignment):
            continue
        properties = {
            "principalId": principal_id,
            "principalType": "ServicePrincipal",
            "roleDefinitionId": f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{role}",
            "scope": scope,
            **condition,
        }
        store.put(assignment, type=ASSIGNMENT_TYPE, body={"properties": properties})
