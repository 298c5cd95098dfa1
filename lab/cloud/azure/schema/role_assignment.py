"""Microsoft.Authorization/roleAssignments, at any scope."""

from __future__ import annotations

import re
import uuid
from typing import Any, Literal

from lab.cloud.azure.conditions import ConditionError, Operation, parse
from lab.cloud.azure.errors import ArmError, invalid, unsupported
from lab.cloud.azure.ids import ASSIGNMENT_TYPE, parse_id
from lab.cloud.azure.roles import role_of
from lab.cloud.azure.schema.base import Body, BodyPart, Put, TypeSpec
from lab.cloud.azure.schema.user_assigned_identity import find_principal, missing_principal
from lab.cloud.store import DocumentStore, ResourceDocument

SECRET = re.compile(
    r"(?i)^(?P<vault>.*/providers/Microsoft\.KeyVault/vaults/(?P<name>[^/]+))/secrets/(?P<secret>[^/]+)$"
)
"""A secret as a scope. No document says whether Azure requires it to exist; the lab does."""


class RoleAssignmentProperties(BodyPart):
    """Properties of a role assignment: a principal and its role."""

    principal_id: str
    role_definition_id: str
    principal_type: Literal["User", "Group", "ServicePrincipal", "ForeignGroup", "Device"] = "ServicePrincipal"
    scope: str | None = None
    description: str | None = None
    condition: str | None = None
    condition_version: Literal["2.0"] | None = None


class RoleAssignment(Body):
    """A role assignment; its scope is in its id."""

    tags: None = None
    properties: RoleAssignmentProperties


def change(verb: str, document: ResourceDocument | None, body: Any) -> Operation | None:
    """Return the attributes of a change of a role assignment, with its ``body`` if it is written; None if nothing
    changes, which no condition judges."""
    present = _role_guid(document.body) if document else None
    if verb == "write":
        properties = _properties(body)
        return Operation(
            action=f"{ASSIGNMENT_TYPE}/write",
            requested_role=_role_guid(body),
            present_role=present,
            requested_principal=str(properties.get("principalId") or ""),
            requested_type=str(properties.get("principalType") or "ServicePrincipal"),
        )
    return Operation(action=f"{ASSIGNMENT_TYPE}/delete", present_role=present) if verb == "delete" and present else None


def _role_guid(body: Any) -> str:
    return str(_properties(body).get("roleDefinitionId") or "").rpartition("/")[2]


def _properties(body: Any) -> dict[str, Any]:
    properties = body.get("properties") if isinstance(body, dict) else None
    return properties if isinstance(properties, dict) else {}


def check(put: Put) -> None:
    """Refuse a name that is not a GUID, a scope, role or principal that does not exist, a condition that the lab does
    not evaluate, and a duplicate assignment."""
    try:
        uuid.UUID(put.id.name)
    except ValueError as problem:
        raise ArmError(
            400, "InvalidRoleAssignmentId", f"The role assignment ID '{put.id.name}' is not valid: it must be a GUID."
        ) from problem
    _scope_exists(put)
    properties = put.body["properties"]
    if role_of(properties["roleDefinitionId"]) is None:
        raise ArmError(
            400,
            "RoleDefinitionDoesNotExist",
            f"The specified role definition with ID '{properties['roleDefinitionId']}' does not exist, or is not one "
            "of the "
            "built-in roles that the lab evaluates (lab/cloud/azure/roles.py).",
        )
    operator = put.store.record("operator", "operator") or {}
    if properties["principalId"] != operator.get("principalId") and not find_principal(
        put.store, properties["principalId"]
    ):
        raise missing_principal(properties["principalId"])
    properties["scope"] = put.id.scope
    if (properties.get("condition") is None) != (properties.get("conditionVersion") is None):
        raise invalid(f"Role assignment {put.id.name}: condition and conditionVersion go together.")
    try:
        if properties.get("condition"):
            parse(properties["condition"])
    except ConditionError as error:
        message = f"Role assignment {put.id.name}: the lab does not evaluate its condition: {error}."
        raise unsupported(message) from None
    for other in put.store.of_type(ASSIGNMENT_TYPE):
        if other.key != put.id.text.lower() and _key(other.body["properties"]) == _key(properties):
            raise ArmError(409, "RoleAssignmentExists", f"The role assignment already exists: {other.id}.")


def _key(properties: dict[str, Any]) -> tuple[str, str, str]:
    role = properties["roleDefinitionId"].rsplit("/", 1)[-1]
    return properties["principalId"].lower(), role.lower(), properties["scope"].strip("/").lower()


def _scope_exists(put: Put) -> None:
    scope = put.id.scope
    match = SECRET.match(scope)
    target = match["vault"] if match else scope
    parsed = parse_id(target)
    if parsed.type is None:
        if parsed.subscription.lower() != put.settings.subscription.lower():
            raise invalid(f"The scope {scope} is in a subscription that the lab does not have.")
        return
    exists = put.store.get(target) is not None
    if not exists or (match and not put.settings.has_secret(match["name"], match["secret"])):
        raise ArmError(404, "ResourceNotFound", f"The scope {scope} of role assignment {put.id.name} does not exist.")


def view(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    """Return no further properties."""
    return {}


SPEC = TypeSpec(
    type=ASSIGNMENT_TYPE,
    model=RoleAssignment,
    check=check,
    view=view,
    read_only=frozenset({"createdOn", "createdBy", "updatedOn", "updatedBy"}),
)
