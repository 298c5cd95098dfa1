"""Ids of Azure's roles, names of their assignments, and types of principals."""

from __future__ import annotations

import uuid

PRINCIPAL_TYPES = {"service": "ServicePrincipal", "user": "User"}
"""Azure's words for the types of principals in the environment file."""


def role_definition_id(subscription: str, role: str) -> str:
    """Return the full id of a built-in role."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"


def role_assignment_name(*parts: str) -> str:
    """Return the name of an assignment, a UUID. The UUID is derived from ``parts``, so that the next run finds the
    assignment again."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("longhaul", *parts))))
