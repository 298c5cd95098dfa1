"""Microsoft.Compute/disks: empty Premium SSD v2 that outlive the machines that they are attached to."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field

from contract.azure import MACHINES
from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.zones import check_known
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Compute/disks"


class DataDiskSku(BodyPart):
    """Kind of the disk; the lab makes only this kind of separate disk, Azure has others."""

    name: Literal["PremiumV2_LRS"]


class DataDiskCreation(BodyPart):
    """Origin of the disk's content; Azure also copies other disks and snapshots."""

    create_option: Literal["Empty"]


class DataDiskProperties(BodyPart):
    """Properties of a disk. The lab exports no disks, so the right to export them has no effect."""

    creation_data: DataDiskCreation
    disk_size_gb: int = Field(alias="diskSizeGB", ge=1, le=65536)
    """Size; the lab's disks can use as much as its host has."""
    network_access_policy: Literal["AllowAll", "DenyAll"] = "AllowAll"
    public_network_access: Literal["Enabled", "Disabled"] = "Enabled"


class StandaloneDisk(Located):
    """A disk by itself."""

    sku: DataDiskSku
    zones: list[str] = Field(min_length=1, max_length=1)
    """A Premium SSD v2 exists in one zone of a region with zones (learn.microsoft.com, "Deploy a Premium SSD v2")."""
    properties: DataDiskProperties


def check(put: Put) -> None:
    """Refuse an unknown zone, and a smaller size (learn.microsoft.com, "Expand virtual hard disks": a disk cannot
    shrink)."""
    check_known(put.body["zones"], of=put.id.text)
    if put.old is None:
        put.hidden["uniqueId"] = str(uuid.uuid4())
        return
    put.hidden = dict(put.old.hidden)
    was, wanted = (body["properties"]["diskSizeGB"] for body in (put.old.body, put.body))
    if wanted < was:
        raise invalid(f"Disk {put.id.name}: its size of {was} GiB cannot become {wanted} GiB.", target="diskSizeGB")


def holder(store: DocumentStore, disk_id: str) -> ResourceDocument | None:
    """Return the machine to which a disk is attached."""
    return next((machine for machine in store.of_type(MACHINES) if disk_id.lower() in attached(machine)), None)


def attached(machine: ResourceDocument) -> tuple[str, ...]:
    """Return the ids of a machine's data disks, in lower case."""
    disks = machine.body["properties"]["storageProfile"].get("dataDisks", ())
    return tuple(str(disk["managedDisk"]["id"]).lower() for disk in disks)


def check_attached(put: Put, disks: list[dict[str, Any]]) -> None:
    """Give a machine's data disks their names, and refuse disks that belong to another machine (learn.microsoft.com,
    "Understand common error messages when you manage virtual machines in Azure": ConflictingUserInput) or are in
    another zone."""
    for disk in disks:
        made = put.find(disk["managedDisk"]["id"], type=TYPE)
        put.same_region(made)
        other = holder(put.store, made.id)
        if other is not None and other.key != put.id.text.lower():
            raise ArmError(
                409,
                "ConflictingUserInput",
                f"Disk '{made.id}' cannot be attached as the disk is already owned by VM '{other.id}'.",
                target="dataDisk",
            )
        if put.body.get("zones") != made.body["zones"]:
            raise ArmError(
                400,
                "BadRequest",
                f"{put.id.name} cannot be created or attached to disk {made.name} because the virtual machine is in "
                f"zone '{','.join(put.body.get('zones') or ())}' and the disk is in zone '{made.body['zones'][0]}'.",
            )
        disk["name"] = made.name


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the disk's unique id, and whether the disk is attached to a machine."""
    state = "Attached" if holder(store, document.id) else "Unattached"
    return {"diskState": state, "uniqueId": document.hidden["uniqueId"]}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a disk while its machine exists (ansible/ansible pull request 54644)."""
    machine = holder(store, document.id)
    if machine is not None:
        raise ArmError(409, "OperationNotAllowed", f"Disk {document.name} is attached to VM {machine.id}.")


SPEC = TypeSpec(
    type=TYPE,
    model=StandaloneDisk,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset({"diskState", "uniqueId", "timeCreated", "managedBy", "diskSizeBytes"}),
)
