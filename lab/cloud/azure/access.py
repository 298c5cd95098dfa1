"""Principals, and the checks of their roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clouds.azure.roles import ASSIGNED, OF_MACHINES, OF_PEOPLE, READER
from lab.cloud.azure.conditions import (
    PRESENT_ROLE,
    REQUESTED_PRINCIPAL,
    REQUESTED_ROLE,
    REQUESTED_TYPE,
    Operation,
    parse,
)
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.grants import in_force
from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.roles import DESTROYER, EVICTION, OPERATOR, RoleDefinition, role_of
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


def may(
    store: DocumentStore, principal: Principal, *, action: str, scope: str, assignment: Operation | None = None
) -> bool:
    """Return whether some role allows a control-plane action."""
    roles = roles_at(store, principal_id=principal.object_id, scope=scope)
    return any(role.allows_assignment(assignment) if assignment else role.allows(action) for role in roles)


def require(
    store: DocumentStore, principal: Principal, *, action: str, scope: str, assignment: Operation | None = None
) -> None:
    """Refuse a control-plane action that no role allows. ``assignment`` has the attributes of a change of a role
    assignment.

    Raises:
        ArmError: 403 AuthorizationFailed.
    """
    if not may(store, principal, action=action, scope=scope, assignment=assignment):
        raise ArmError(
            403,
            "AuthorizationFailed",
            f"The client '{principal.app_id}' with object id '{principal.object_id}' does not have authorization to "
            "perform action "
            f"'{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please "
            "refresh your "
            "credentials.",
        )


def operator_condition(*, operator: str, people: Sequence[str]) -> str:
    """Return the condition with which the operator's role is assigned (docs/getting-started.md): to service principals
    other than the operator, the roles of machines; to the named people, theirs (azure-docs,
    ``delegate-role-assignments-examples.md`` and ``conditions-authorization-actions-attributes.md``)."""
    within = "ForAnyOfAnyValues:GuidEquals"
    machines = (
        f"({REQUESTED_ROLE} {within} {_set(OF_MACHINES)}"
        f" AND {REQUESTED_TYPE} ForAnyOfAnyValues:StringEqualsIgnoreCase {{'ServicePrincipal'}}"
        f" AND {REQUESTED_PRINCIPAL} ForAnyOfAllValues:GuidNotEquals {_set([operator])})"
    )
    named = f"({REQUESTED_ROLE} {within} {_set(OF_PEOPLE)} AND {REQUESTED_PRINCIPAL} {within} {_set(people)})"
    written, deleted = (f"(!(ActionMatches{{'{ASSIGNMENT_TYPE}/{verb}'}}))" for verb in ("write", "delete"))
    return f"({written} OR {machines} OR {named}) AND ({deleted} OR ({PRESENT_ROLE} {within} {_set(ASSIGNED)}))"


def _set(values: Sequence[str]) -> str:
    return f"{{{', '.join(values)}}}"


def seed_operator(store: DocumentStore, *, principal_id: str, subscription: str) -> None:
    """Assign the roles that the page on real accounts asks for: the operator's own two, and Reader, which the doctor
    needs; and the lab's own, to take spot machines back. A right that these lack is missing in the lab as in Azure."""
    scope = f"/subscriptions/{subscription}"
    condition = operator_condition(operator=principal_id, people=[principal_id])
    conditions = {
        OPERATOR: {"condition": condition, "conditionVersion": "2.0"},
        READER: {},
        DESTROYER: {},
        EVICTION: {},
    }
    for number, (role, limits) in enumerate(conditions.items()):
        assignment = f"{scope}/providers/{ASSIGNMENT_TYPE}/00000000-0000-4000-8000-0000000000f{number}"
        if store.get(assignment):
            continue
        properties = {
            "principalId": principal_id,
            "principalType": "ServicePrincipal",
            "roleDefinitionId": f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{role}",
            "scope": scope,
            **limits,
        }
        store.put(assignment, type=ASSIGNMENT_TYPE, body={"properties": properties})
