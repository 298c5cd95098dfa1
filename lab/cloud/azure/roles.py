"""Roles that the lab evaluates, and the actions that each allows: built-in roles, and Longhaul's custom roles,
clouds/azure/operator-role.json, destroy-role.json and autoscaler-role.json.

Ids, actions and data actions are from learn.microsoft.com/azure/role-based-access-control/built-in-roles (general,
security).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase

from clouds.azure import permissions, roles
from clouds.azure.roles import AUTOSCALER, BLOB_CONTRIBUTOR, BLOB_READER, READER, SECRETS_OFFICER, SECRETS_USER
from contract.azure import BLOBS
from lab.cloud.azure.conditions import Condition, Operation
from lab.cloud.azure.schema.blob_container import TYPE
from lab.cloud.azure.schema.scale_set_instance import INSTANCE
from longhaul.toolchain.spec import repository

OWNER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
VM_CONTRIBUTOR = "9980e02c-c2be-4d73-94e8-173b1dc7cf3c"
OPERATOR = "00000000-0000-4000-8000-00000000000e"
DESTROYER = "00000000-0000-4000-8000-00000000000d"
"""The operator's two roles in the lab. In Azure, `az role definition create` chooses their ids."""
EVICTION = "00000000-0000-4000-8000-00000000000c"
"""A role of the lab alone: Azure takes spot machines back when it wants, here somebody has to ask for it."""


@dataclass(frozen=True, kw_only=True)
class RoleDefinition:
    """A role definition. Patterns are Azure's: ``*`` stands for anything."""

    name: str
    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()
    condition: Condition | None = None
    """Condition of the assignment, on data actions and on changes of role assignments."""

    def allows(self, action: str) -> bool:
        """Return whether a control-plane action is allowed, whatever its attributes."""
        return _any(self.actions, action) and not _any(self.not_actions, action)

    def allows_assignment(self, operation: Operation) -> bool:
        """Return whether a change of a role assignment is allowed."""
        return self.allows(operation.action) and (self.condition is None or self.condition(operation))

    def allows_data(self, operation: Operation) -> bool:
        """Return whether a data action is allowed."""
        allowed = _any(self.data_actions, operation.action)
        return allowed and (self.condition is None or self.condition(operation))


def _any(patterns: tuple[str, ...], action: str) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def _autoscaler() -> tuple[str, ...]:
    role = json.loads((repository() / "clouds" / "azure" / "autoscaler-role.json").read_text(encoding="utf-8"))
    return tuple(action for permission in role["properties"]["permissions"] for action in permission["actions"])


def built_in() -> dict[str, RoleDefinition]:
    """Return the roles by the GUID of their definition."""
    vault_reads = ("Microsoft.KeyVault/vaults/secrets/readMetadata/action",)
    return {
        OWNER: RoleDefinition(name="Owner", actions=("*",)),
        CONTRIBUTOR: RoleDefinition(
            name="Contributor",
            actions=("*",),
            not_actions=("Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"),
        ),
        READER: RoleDefinition(name="Reader", actions=("*/read",)),
        OPERATOR: RoleDefinition(name="Longhaul operator", actions=permissions.actions()),
        DESTROYER: RoleDefinition(name=roles.DESTROYER, actions=permissions.actions(permissions.DESTROY_ROLE)),
        EVICTION: RoleDefinition(name="Eviction", actions=(f"{INSTANCE}/simulateEviction/action",)),
        AUTOSCALER: RoleDefinition(name="Longhaul autoscaler", actions=_autoscaler()),
        VM_CONTRIBUTOR: RoleDefinition(
            name="Virtual Machine Contributor",
            actions=("Microsoft.Compute/virtualMachines/*", "Microsoft.Network/networkInterfaces/*", "*/read"),
        ),
        BLOB_CONTRIBUTOR: RoleDefinition(
            name="Storage Blob Data Contributor",
            actions=tuple(f"{TYPE}/{verb}" for verb in ("delete", "read", "write")),
            data_actions=tuple(
                f"{TYPE}/blobs/{verb}" for verb in ("delete", "read", "write", "move/action", "add/action")
            ),
        ),
        BLOB_READER: RoleDefinition(
            name="Storage Blob Data Reader",
            actions=("Microsoft.Storage/storageAccounts/blobServices/containers/read",),
            data_actions=(f"{BLOBS}/read",),
        ),
        SECRETS_USER: RoleDefinition(
            name="Key Vault Secrets User",
            data_actions=("Microsoft.KeyVault/vaults/secrets/getSecret/action", *vault_reads),
        ),
        SECRETS_OFFICER: RoleDefinition(
            name="Key Vault Secrets Officer",
            actions=("Microsoft.KeyVault/vaults/read", "Microsoft.KeyVault/deletedVaults/read"),
            data_actions=("Microsoft.KeyVault/vaults/secrets/*",),
        ),
    }


def role_of(definition_id: str) -> RoleDefinition | None:
    """Return the role that a definition's id names; None when the lab does not have it."""
    return built_in().get(definition_id.rsplit("/", 1)[-1].lower())
