"""Roles of Azure that Longhaul assigns, built-in ones and one of its own, and names of assignments."""

from __future__ import annotations

import uuid

SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
"""Key Vault Secrets Officer: reads and writes secrets (learn.microsoft.com, "Azure built-in roles for Security")."""

SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
"""Key Vault Secrets User: reads secrets (same page)."""

READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
"""Reader: sees everything and changes nothing (learn.microsoft.com, "Azure built-in roles", General). The narrowest
built-in role that lists a scale set's machines and their interfaces."""

BLOB_READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
"""Storage Blob Data Reader: reads and lists blobs (learn.microsoft.com, "Azure built-in roles for Storage")."""

BLOB_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
"""Storage Blob Data Contributor: reads, writes and deletes blobs (same page). No built-in role writes and cannot
delete; ``conditions.py`` takes that away."""


PRINCIPAL_TYPES = {"service": "ServicePrincipal", "user": "User"}
"""Azure's words for the types of principals in the environment file."""


def role_definition_id(subscription: str, role: str) -> str:
    """Return the full id of a built-in role."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"


def role_assignment_name(*parts: str) -> str:
    """Return the name of an assignment, a UUID. It is derived from what is assigned, so that the next run finds the
    assignment again."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("longhaul", *parts))))
