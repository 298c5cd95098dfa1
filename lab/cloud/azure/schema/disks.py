"""System disks by their names. A disk outlives its machine when the machine's deletion fails to delete it."""

from __future__ import annotations

import uuid
from typing import Any

from contract.azure import MACHINES
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.ids import group_id
from lab.cloud.azure.schema.base import Put
from lab.cloud.store import DocumentStore, ResourceDocument

LEFT = "left-disk"
"""Kind of the store's records that hold the disks of deleted machines, by id."""


def check_disk(put: Put, disk: dict[str, Any]) -> None:
    """Give the system disk a name as Azure does if the request has none (Azure/azure-cli issue 15765 shows such a
    name). Refuse the name of another disk in the group."""
    old = put.old.body["properties"]["storageProfile"]["osDisk"].get("name") if put.old else None
    name = disk.setdefault("name", old or f"{put.id.name}_OsDisk_1_{uuid.uuid4().hex}")
    wanted = disk_id(put.id.text, name)
    others = [machine for machine in put.store.of_type(MACHINES) if machine.key != put.id.text.lower()]
    if put.old is None and (wanted in put.store.records(LEFT) or wanted in map(_disk_of, others)):
        raise ArmError(
            409,
            "ConflictingUserInput",
            f"Disk {name} already exists in resource group {(put.id.group or '').upper()}. Only CreateOption.Attach is "
            "supported.",
            target=wanted,
        )


def leave(store: DocumentStore, machine: ResourceDocument) -> None:
    """Record the system disk that a failed machine leaves behind when it is deleted. Users report such disks, and no
    document says when Azure deletes a failed machine's disk."""
    if machine.hidden.get("state") == "Failed":
        store.set_record(LEFT, _disk_of(machine), machine.id)


def forget(store: DocumentStore, group: str) -> None:
    """Forget the disks of a deleted group."""
    for disk in store.records(LEFT):
        if disk.startswith(f"{group.lower()}/"):
            store.set_record(LEFT, disk, None)


def disk_id(machine_id: str, name: str) -> str:
    """Return the id of a disk in a machine's group, in lower case."""
    return f"{group_id(machine_id)}/providers/Microsoft.Compute/disks/{name}".lower()


def _disk_of(machine: ResourceDocument) -> str:
    return disk_id(machine.id, machine.body["properties"]["storageProfile"]["osDisk"].get("name", ""))
