"""Microsoft.Compute/snapshots: copies of system disks of scale sets' machines, which outlive the machines.

learn.microsoft.com/rest/api/compute/snapshots/create-or-update. A snapshot is complete as soon as it is put; the lab
keeps no file of its content.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.scale_set_instance import INSTANCE, disk_of
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Compute/snapshots"


class SnapshotSku(BodyPart):
    """Kind of a snapshot's storage; the lab supports only this kind."""

    name: Literal["Standard_LRS"]


class SnapshotCreation(BodyPart):
    """Origin of a snapshot's content; Azure also imports blobs and copies snapshots."""

    create_option: Literal["Copy"]
    source_resource_id: str


class SnapshotProperties(BodyPart):
    """Properties of a snapshot. The lab exports no snapshots, so the right to export them has no effect."""

    creation_data: SnapshotCreation
    incremental: bool = False
    network_access_policy: Literal["AllowAll", "DenyAll"] = "AllowAll"
    public_network_access: Literal["Enabled", "Disabled"] = "Enabled"


class DiskSnapshot(Located):
    """A snapshot of a disk."""

    sku: SnapshotSku = Field(default_factory=lambda: SnapshotSku(name="Standard_LRS"))
    properties: SnapshotProperties


def check(put: Put) -> None:
    """Refuse an unknown source, and a later change of the source ("CreationData information cannot be changed after the
    disk has been created")."""
    creation = put.body["properties"]["creationData"]
    if put.old is not None:
        put.hidden = dict(put.old.hidden)
        if put.old.body["properties"]["creationData"] != creation:
            raise invalid("Changing property 'creationData' is not allowed.", target="creationData")
        return
    source = str(creation["sourceResourceId"]).lower()
    machine = next((instance for instance in put.store.of_type(INSTANCE) if disk_of(instance).lower() == source), None)
    if machine is None:
        raise ArmError(
            404, "NotFound", f"Resource {creation['sourceResourceId']} is not found.", target="sourceResourceId"
        )
    put.same_region(machine)
    put.hidden["size"] = machine.body["properties"]["storageProfile"]["osDisk"].get("diskSizeGB", 0)


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the snapshot's state, operating system and size."""
    return {"diskState": "Unattached", "osType": "Linux", "diskSizeGB": document.hidden["size"]}


SPEC = TypeSpec(
    type=TYPE,
    model=DiskSnapshot,
    check=check,
    view=view,
    read_only=frozenset({"diskState", "osType", "diskSizeGB", "uniqueId", "timeCreated", "diskSizeBytes"}),
)
