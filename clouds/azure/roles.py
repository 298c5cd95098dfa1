"""Roles of Azure that Longhaul assigns or needs: built-in ones, and custom ones."""

from __future__ import annotations

SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
"""Key Vault Secrets Officer: reads and writes secrets (learn.microsoft.com, "Azure built-in roles for Security")."""

SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
"""Key Vault Secrets User: reads secrets (same page)."""

READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
"""Reader: reads everything and changes nothing (learn.microsoft.com, "Azure built-in roles", General). It is the
narrowest built-in role that lists a scale set's machines and their interfaces."""

BLOB_READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
"""Storage Blob Data Reader: reads and lists blobs (learn.microsoft.com, "Azure built-in roles for Storage")."""

BLOB_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
"""Storage Blob Data Contributor: reads, writes and deletes blobs (same page). No built-in role can write but not
delete; ``components/azure/conditions.py`` removes the right to delete."""

AUTOSCALER = "56c7267f-6b58-5bc1-8b66-ce1fa91a6ae9"
"""Name under which an owner creates the role in autoscaler-role.json, once in each directory. No built-in role can
resize scale sets without rights to other machines. The identity that runs `longhaul up` must not create roles, since it
could then give itself any rights."""

DESTROYER = "Longhaul destroyer"
"""Name of the role in destroy-role.json."""

OF_MACHINES = (SECRETS_USER, READER, BLOB_CONTRIBUTOR, AUTOSCALER)
"""Roles that `longhaul up` assigns to identities of machines."""

OF_PEOPLE = (SECRETS_OFFICER, SECRETS_USER, BLOB_READER)
"""Roles that `longhaul up` assigns to the officers and administrators in the file."""

ASSIGNED = tuple(dict.fromkeys((*OF_MACHINES, *OF_PEOPLE)))
"""Roles that `longhaul up` assigns. The condition of the operator's own assignment admits no others."""
