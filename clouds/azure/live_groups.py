"""A pool on Azure: a scale set in uniform orchestration. Its upgrade policy does not replace machines by itself.

A machine is replaced in place: it is updated to the scale set's model, and then reimaged, because otherwise its system
disk and custom data would not change (learn.microsoft.com, "Reimage a virtual machine in a scale set"). Deleting it
would free its capacity for other customers, and the next GPU machine may take long to get. Names: "Azure REST API
reference", Virtual Machine Scale Sets (2024-07-01), `manualupgrade` and `virtualMachines/{id}/reimage`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from clouds.azure.groups import AzurePoolGroups
from clouds.azure.names import resource_group_path
from clouds.azure.refusals import SIGNS
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.session import RequestSender
from clouds.azure.site import AzureSite
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, Life, LiveMachine
from clouds.base.place import Place
from clouds.base.refusals import Refusal, cause_of

LOOK_S = 5.0
"""Seconds between two looks at a machine that is being updated to a model."""
TAKES_OVER_S = 900.0
"""Time limit for that update, seconds."""
LIVES = {"deleting": Life.LEAVING, "creating": Life.CHANGING, "updating": Life.CHANGING, "migrating": Life.CHANGING}

FAILED = "ProvisioningState/failed"
POWER, UNMADE = "PowerState/", ("PowerState/deallocated", "PowerState/deallocating")


SCALES = (
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/write",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/instanceView/read",
)
"""Actions that an autoscaler needs (learn.microsoft.com, "Azure permissions for Compute"). A write of a scale set whose
model has an image, a subnet or an identity also needs those resources' ``…/read`` or ``…/join/action``: Azure looks at
the whole model, though only the capacity changes."""


class AzureGroup:
    """A scale set."""

    in_place = True
    ends_at_once = 1000
    """Larger than any scale set, so there is no limit."""

    def __init__(
        self,
        name: str,
        *,
        resource_group: str,
        session: RequestSender | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """``resource_group`` is the path of the resource group."""
        self._name, self._clock, self._wait = name, clock, wait
        self._manager = ResourceManager(session)
        self._promptly = ResourceManager(session, prompt=True)
        self._path = f"{resource_group}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}"

    def look(self) -> GroupState:
        """Return the scale set and its machines, which are read page by page."""
        document = self._document()
        items = list(self._manager.pages(f"{self._path}/virtualMachines", version=COMPUTE_VERSION))
        return GroupState(
            target=target(document),
            wanted=int(document["sku"]["capacity"]),
            machines=tuple(machine for item in items if (machine := machine_of(item))),
        )

    def replace(self, machine: LiveMachine) -> None:
        """Update the machine to the model. Its disk is still the old one afterwards."""
        # Without ids, Azure would update every machine of the scale set.
        self._post("manualupgrade", {"instanceIds": [machine.id]})

    def rebuild(self, machine: LiveMachine) -> None:
        """Give the machine a new system disk, and its custom data again."""
        self._post(f"virtualMachines/{machine.id}/reimage", {})

    def remake(self, machine: LiveMachine) -> None:
        """Do both steps, and wait between them. Raise ``CloudError`` when the first one takes too long."""
        self.replace(machine)
        until = self._clock() + TAKES_OVER_S
        while True:
            item = self._manager.get(f"{self._path}/virtualMachines/{machine.id}", version=COMPUTE_VERSION)
            view = machine_of(item)
            if view is not None and view.current and view.life is Life.PRESENT:
                break
            if self._clock() > until:
                raise CloudError(
                    f"{machine.node} has not taken over the model of {self._name} after {TAKES_OVER_S:.0f} s: Azure "
                    f"says {item.get('properties', {}).get('provisioningState')}"
                )
            self._wait(LOOK_S)
        self.rebuild(machine)

    def size(self) -> int:
        """Return the capacity (learn.microsoft.com, "Virtual Machine Scale Sets - Update": the SKU's ``capacity``)."""
        return int(self._document()["sku"]["capacity"])

    def resize(self, count: int) -> None:
        """Set the capacity, and leave the rest of the SKU unchanged. Each request is sent once: a repeat could
        overwrite a size that somebody has set since. Azure answers 412 when somebody has changed the scale set in
        between (REST reference, "Virtual Machine Scale Sets - Update", ``If-Match``)."""
        document = self._promptly.get(self._path, version=COMPUTE_VERSION)
        body = {"sku": {**document["sku"], "capacity": count}}
        only = {"If-Match": str(document["etag"])} if document.get("etag") else {}
        self._promptly.ask("PATCH", self._path, version=COMPUTE_VERSION, body=body, headers=only)

    def end(self, machines: Sequence[str]) -> None:
        """Delete machines in one request, which lowers the capacity by their number (REST reference, "Virtual Machine
        Scale Sets - Delete Instances")."""
        body = {"instanceIds": list(machines)}
        self._promptly.ask("POST", f"{self._path}/delete", version=COMPUTE_VERSION, body=body)

    def made_at(self, machines: Sequence[LiveMachine]) -> dict[str, str]:
        """Return the times of creation. One request for the list is cheaper than one for each machine."""
        wanted = {machine.id for machine in machines}
        items = list(self._manager.pages(f"{self._path}/virtualMachines", version=COMPUTE_VERSION)) if wanted else []
        times = {
            str(item["instanceId"]): str((item.get("properties") or {}).get("timeCreated") or "") for item in items
        }
        return {id_: made for id_, made in times.items() if id_ in wanted and made}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the machines that could not be allocated. They stay in the scale set as failed and count towards its
        capacity; their instance view has the reason (REST reference, "Virtual Machine Scale Set VMs - List",
        ``$expand``). A request that exceeds a quota is refused at once, and leaves no such machine."""
        items = self._manager.pages(f"{self._path}/virtualMachines", version=COMPUTE_VERSION, expand="instanceView")
        return tuple(refusal for item in items if (refusal := refusal_of(item)))

    def console(self, machine: LiveMachine) -> str:
        """Return the command that runs on the machine itself, through Azure's agent."""
        group = self._path.split("/resourceGroups/")[1].split("/")[0]
        return (
            f"az vmss run-command invoke --resource-group {group} --name {self._name} --instance-id {machine.id} "
            "--command-id RunShellScript --scripts 'longhaul-node status; journalctl --unit=kubelet --lines=20'"
        )

    def _document(self) -> dict[str, Any]:
        return self._manager.get(self._path, version=COMPUTE_VERSION)

    def _post(self, action: str, body: Mapping[str, Any]) -> None:
        self._manager.ask("POST", f"{self._path}/{action}", version=COMPUTE_VERSION, body=body)


def live_groups(place: Place[AzureSite], name: str) -> dict[str, AzureGroup]:
    """Return the pool's scale sets by name."""
    where = resource_group_path(place)
    return {
        group.name: AzureGroup(group.name, resource_group=where) for group in AzurePoolGroups().of_pool(place, name)
    }


def target(document: Mapping[str, Any]) -> str:
    """Return the image's version and a digest of the rest of the model, because Azure does not number models."""
    profile = document["properties"].get("virtualMachineProfile") or {}
    image = str(profile.get("storageProfile", {}).get("imageReference", {}).get("id") or "")
    model = json.dumps([document["sku"].get("name"), profile], sort_keys=True)
    return f"{image.rpartition('/')[2] or 'image'}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def machine_of(item: Mapping[str, Any]) -> LiveMachine | None:
    """Return one machine; None while it has no name yet. A scale set's machine is named by its computer name."""
    properties = item.get("properties") or {}
    name = str((properties.get("osProfile") or {}).get("computerName") or "").lower()
    if not name:
        return None
    protection = properties.get("protectionPolicy") or {}
    return LiveMachine(
        id=str(item["instanceId"]),
        node=name,
        current=bool(properties.get("latestModelApplied")),
        life=LIVES.get(str(properties.get("provisioningState", "")).lower(), Life.PRESENT),
        keep_reason="it is protected from the scale set's actions"
        if protection.get("protectFromScaleSetActions")
        else "",
    )


def refusal_of(item: Mapping[str, Any]) -> Refusal | None:
    """Return why a machine was not made; None when it was made. A machine that is running or stopped has failed at
    something else: provisioning states are those of the last operation (learn.microsoft.com, "States and billing status
    of Azure Virtual Machines")."""
    properties = item.get("properties") or {}
    statuses = (properties.get("instanceView") or {}).get("statuses") or []
    failed = next((status for status in statuses if str(status.get("code", "")).startswith(FAILED)), None)
    powers = [code for status in statuses if (code := str(status.get("code", ""))).startswith(POWER)]
    if failed is None or any(code not in UNMADE for code in powers):
        return None
    at = str(failed.get("time") or properties["timeCreated"])
    code = str(failed["code"]).removeprefix(FAILED).removeprefix("/")
    words = ": ".join(filter(None, (code, str(failed.get("message") or ""))))
    return Refusal(
        cause=cause_of(words, SIGNS), at=datetime.fromisoformat(at), words=words, machine=str(item["instanceId"])
    )
