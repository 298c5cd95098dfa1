"""Microsoft.Authorization/roleDefinitions: roles of a subscription's own, made at a resource group.

Fields are those of learn.microsoft.com, "Role Definitions - Create Or Update".
"""

from __future__ import annotations

import uuid
from typing import Literal

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.ids import DEFINITION_TYPE
from lab.cloud.azure.roles import built_in
from lab.cloud.azure.schema.base import Body, Part, Put, TypeSpec


class Permission(Part):
    """Actions that a role allows."""

    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()
    not_data_actions: tuple[str, ...] = ()


class Properties(Part):
    """Properties of a role."""

    role_name: str
    type: Literal["CustomRole"]
    description: str = ""
    assignable_scopes: tuple[str, ...]
    permissions: tuple[Permission, ...]


class RoleDefinition(Body):
    """A role of a subscription's own; its scope is in its id."""

    tags: None = None
    properties: Properties


def check(put: Put) -> None:
    """Refuse a name that is not a GUID or a built-in role's, a display name that another role has, and a role without
    a scope in which it can be assigned (learn.microsoft.com, "Azure custom roles")."""
    try:
        guid = str(uuid.UUID(put.id.name))
    except ValueError as problem:
        raise ArmError(
            400, "InvalidRoleDefinitionId", f"The role definition ID '{put.id.name}' is not valid: it must be a GUID."
        ) from problem
    if guid in built_in():
        raise invalid(f"Role definition {guid} is built in.")
    properties = put.body["properties"]
    if not properties["assignableScopes"]:
        raise invalid(f"Role definition {guid} has no assignable scope.")
    for other in put.store.of_type(DEFINITION_TYPE):
        if other.name != put.id.name and other.body["properties"]["roleName"] == properties["roleName"]:
            raise ArmError(
                409,
                "RoleDefinitionWithSameNameExists",
                f"A custom role with the name '{properties['roleName']}' already exists.",
            )


SPEC = TypeSpec(
    type=DEFINITION_TYPE,
    model=RoleDefinition,
    check=check,
    read_only=frozenset({"createdOn", "createdBy", "updatedOn", "updatedBy"}),
)
