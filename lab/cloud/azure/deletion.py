"""Deletion of resources with their parts, and of whole groups."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.machines import MachineChanges
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.schema import disks, vault, virtual_machine
from lab.cloud.azure.schema.base import TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument


def remove(types: dict[str, TypeSpec], store: DocumentStore, document: ResourceDocument) -> None:
    """Delete a document with its parts and the role assignments on it; a vault is recorded as a deleted vault."""
    with store.transaction():
        kin = {document.type.lower()}
        for child in sorted(store.below(document.id), key=lambda below: len(below.id)):
            spec = types[child.type.lower()]
            if spec.parent and spec.parent.lower() in kin:
                kin.add(child.type.lower())
                store.delete(child.id)
        _assignments(store, document.id)
        if document.type.lower() == vault.TYPE.lower():
            _keep_deleted_vault(store, document)
        store.delete(document.id)


async def remove_group(
    types: dict[str, TypeSpec],
    store: DocumentStore,
    group: ResourceDocument,
    *,
    machines: MachineChanges,
    operations: Operations,
    operation: str,
) -> None:
    """Delete everything in a group, machines first, then the group."""
    for document in store.below(group.id):
        if document.type.lower() == virtual_machine.TYPE.lower() and document.hidden.get("state") != "Deleting":
            machines.deleted(document)
    for document in store.below(group.id):
        if document.type.lower() == virtual_machine.TYPE.lower():
            await machines.gone(document.id)
    with store.transaction():
        for document in store.below(group.id):
            if store.get(document.id):
                remove(types, store, document)
        _assignments(store, group.id)
        disks.forget(store, group.id)
        store.delete(group.id)
    operations.succeed(operation)


def deleted_vault(record: dict[str, object], *, subscription: str) -> dict[str, object]:
    """Return a soft-deleted vault as the resource manager shows it."""
    name, location = record["name"], record["location"]
    return {
        "id": f"/subscriptions/{subscription}/providers/Microsoft.KeyVault/locations/{location}/deletedVaults/{name}",
        "name": name,
        "type": "Microsoft.KeyVault/deletedVaults",
        "properties": {
            key: record[key]
            for key in ("vaultId", "location", "deletionDate", "scheduledPurgeDate", "purgeProtectionEnabled")
        },
    }


def _assignments(store: DocumentStore, scope: str) -> None:
    prefix = scope.strip("/").lower() + "/"
    for assignment in store.of_type(ASSIGNMENT_TYPE):
        if (assignment.body["properties"]["scope"].strip("/").lower() + "/").startswith(prefix):
            store.delete(assignment.id)


def _keep_deleted_vault(store: DocumentStore, document: ResourceDocument) -> None:
    properties = document.body["properties"]
    now = datetime.now(UTC)
    purge = now + timedelta(days=properties["softDeleteRetentionInDays"])
    store.set_record(
        vault.DELETED,
        document.name.lower(),
        {
            "name": document.name,
            "vaultId": document.id,
            "location": document.body["location"],
            "deletionDate": now.isoformat(),
            "scheduledPurgeDate": purge.isoformat(),
            "purgeProtectionEnabled": bool(properties.get("enablePurgeProtection")),
        },
    )
