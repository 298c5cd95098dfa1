"""Quarantine of a pool's machine on Azure: its system disk is kept as a snapshot, it is powered off, and it is deleted.

A scale set in uniform orchestration has one model for all machines: no machine can have its own security rules, or
leave the set and keep running ("Orchestration modes for Virtual Machine Scale Sets"). So the machine is isolated by
powering it off, at once and without a shutdown. Requests: "Azure REST API reference", Virtual Machine Scale Set VMs
(2024-07-01), ``powerOff`` and ``delete``; Snapshots (2024-03-02).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.azure.live_groups import live_groups
from clouds.azure.names import resource_group_path
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.site import AzureSite
from clouds.azure.versions import COMPUTE_VERSION, SNAPSHOT_VERSION
from clouds.base.place import Place
from clouds.base.quarantine import PoolQuarantine, Suspect, suspect_in

LIMIT_S = 900.0
"""Time limit of one operation, seconds."""
OFF = ("PowerState/stopped", "PowerState/deallocated")


class AzurePoolQuarantine(PoolQuarantine[AzureSite]):
    """Quarantine of pools' machines in Azure."""

    def consequences(self) -> tuple[str, ...]:
        """Return sentences about the consequences for a machine."""
        return (
            "it is powered off without a shutdown: its memory is lost, and it reaches nothing and nobody reaches it",
            "its system disk is kept as a snapshot; temporary and local disks are lost",
            "it is deleted, and its scale set makes another machine under another name",
        )

    def find(self, place: Place[AzureSite], pool: str, node: str) -> Suspect | None:
        """Return the machine whose computer name is the Node's name; None without one."""
        return suspect_in(live_groups(place, pool), node)

    def isolate(self, place: Place[AzureSite], suspect: Suspect) -> None:
        """Power the machine off, which keeps its disk and its place in the scale set."""
        manager, path = ResourceManager(), _machine(place, suspect)
        document = manager.find(path, version=COMPUTE_VERSION, expand="instanceView")
        if document is None or _codes(document) & set(OFF):
            return
        begun = manager.ask("POST", f"{path}/powerOff", version=COMPUTE_VERSION, options={"skipShutdown": "true"})
        manager.finished(begun, what=f"{suspect.node}: powering it off", limit_s=LIMIT_S)

    def keep(self, place: Place[AzureSite], suspect: Suspect) -> tuple[str, ...]:
        """Make a snapshot of the machine's system disk. No network reaches the snapshot. The disk itself is deleted
        with the machine."""
        manager = ResourceManager()
        snapshot = f"{resource_group_path(place)}/providers/Microsoft.Compute/snapshots/{suspect.node}-quarantine"
        there = manager.find(snapshot, version=SNAPSHOT_VERSION)
        if there is not None and there["properties"].get("provisioningState") == "Succeeded":
            return (snapshot,)
        machine = manager.find(_machine(place, suspect), version=COMPUTE_VERSION)
        if machine is None:
            return ()
        disk = machine["properties"]["storageProfile"]["osDisk"]["managedDisk"]["id"]
        body = {
            "location": machine["location"],
            "tags": dict(machine.get("tags") or {}),
            "sku": {"name": "Standard_LRS"},
            "properties": {
                "creationData": {"createOption": "Copy", "sourceResourceId": disk},
                "incremental": True,
                "networkAccessPolicy": "DenyAll",
                "publicNetworkAccess": "Disabled",
            },
        }
        begun = manager.ask("PUT", snapshot, version=SNAPSHOT_VERSION, body=body)
        manager.finished(begun, what=f"{suspect.node}: the snapshot of its disk", limit_s=LIMIT_S)
        return (snapshot,)

    def replace(self, place: Place[AzureSite], suspect: Suspect) -> None:
        """Delete the machine, which makes the scale set smaller, and restore the scale set's size."""
        manager, path = ResourceManager(), _machine(place, suspect)
        if manager.find(path, version=COMPUTE_VERSION) is not None:
            begun = manager.ask("DELETE", path, version=COMPUTE_VERSION)
            manager.finished(begun, what=f"{suspect.node}: its deletion", limit_s=LIMIT_S)
        set_path = _set(place, suspect)
        document = manager.get(set_path, version=COMPUTE_VERSION)
        sku = document["sku"]
        # An autoscaler may have requested more meanwhile.
        if int(sku["capacity"]) < suspect.wanted:
            body = {"sku": {**sku, "capacity": suspect.wanted}}
            unchanged = {"If-Match": str(document["etag"])} if document.get("etag") else {}
            manager.ask("PATCH", set_path, version=COMPUTE_VERSION, body=body, headers=unchanged)

    def release(self, place: Place[AzureSite], kept: tuple[str, ...]) -> None:
        """Delete the snapshot."""
        manager = ResourceManager()
        for snapshot in kept:
            begun = manager.ask("DELETE", snapshot, version=SNAPSHOT_VERSION)
            manager.finished(begun, what=f"the deletion of {snapshot.rpartition('/')[2]}", limit_s=LIMIT_S)


def _set(place: Place[AzureSite], suspect: Suspect) -> str:
    return f"{resource_group_path(place)}/providers/Microsoft.Compute/virtualMachineScaleSets/{suspect.group}"


def _machine(place: Place[AzureSite], suspect: Suspect) -> str:
    return f"{_set(place, suspect)}/virtualMachines/{suspect.machine}"


def _codes(machine: Mapping[str, Any]) -> set[str]:
    """Return the codes of the machine's states."""
    view = machine["properties"].get("instanceView") or {}
    return {str(status.get("code", "")) for status in view.get("statuses") or ()}
