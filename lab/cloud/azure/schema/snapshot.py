"""Microsoft.Compute/snapshots: copies of system disks of scale sets' machines, which outlive them.

learn.microsoft.com/rest/api/compute/snapshots/create-or-update. A snapshot is here as soon as it is put; its content is
no file of the lab's."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.scale_set_instance import INSTANCE, disk_of
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Compute/snapshots"


class SnapshotSku(BodyPart):
    """Kind of storage; a snapshot has others too, of which nothing here makes one."""

    name: Literal["Standard_LRS"]


class SnapshotCreation(BodyPart):
    """Origin of its content; Azure also imports blobs and copies snapshots."""

    create_option: Literal["Copy"]
    source_resource_id: str


class SnapshotProperties(BodyPart):
    """Properties of a snapshot. Who may export it makes no difference in the lab, which exports none."""

    creation_data: SnapshotCreation
    incremental: bool = False
    network_access_policy: Literal["AllowAll", "DenyAll"] = "AllowAll"
    public_network_access: Literal["Enabled", "Disabled"] = "Enabled"


class DiskSnapshot(Located):
    """A snapshot of a disk."""

    sku: SnapshotSku = Field(default_factory=lambda: SnapshotSku(name="Standard_LRS"))
    properties: SnapshotProperties


def check(put: Put) -> None:
    """Refuse a source that is not there, and another source later ("CreationData information cannot be changed after
    the disk has been created")."""
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
    """Return what Azure adds."""
    return {"diskState": "Unattached", "osType": "Linux", "diskSizeGB": document.hidden["size"]}


SPEC = TypeSpec(
    type=TYPE,
    model=DiskSnapshot,
    check=check,
    view=view,
    read_only=frozenset({"diskState", "osType", "diskSizeGB", "uniqueId", "timeCreated", "diskSizeBytes"}),
)
