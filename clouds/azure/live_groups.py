"""A pool on Azure: a scale set in uniform orchestration. Its upgrade policy does not replace machines by itself.

A machine is replaced in place: it is updated to the scale set's model, and then reimaged, because otherwise its system
disk and custom data would not change (learn.microsoft.com, "Reimage a virtual machine in a scale set"). Deleting it
would free its capacity for other customers, and the next GPU machine may take long to get. Names: "Azure REST API
reference", Virtual Machine Scale Sets (2024-07-01), `manualupgrade` and `virtualMachines/{id}/reimage`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clouds.azure.groups import AzurePoolGroups
from clouds.azure.names import resource_group_path
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.scale_set_documents import creation_times, is_spot, machine_of, refusal_of, target
from clouds.azure.scale_set_observer import ScaleSetObserver, SetList
from clouds.azure.session import RequestSender, credentials
from clouds.azure.site import AzureSite
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupObservation, GroupState, Life, LiveMachine
from clouds.base.locked_cache import locked_cache
from clouds.base.place import Place
from clouds.base.refusals import Refusal

LOOK_S = 5.0
"""Seconds between two looks at a machine that is being updated to a model."""
TAKES_OVER_S = 900.0
"""Time limit for a machine's update to a model, seconds."""
READ_S = 5.0
"""Time after :meth:`AzureGroup.size` in which :meth:`AzureGroup.resize` relies on what it has read, seconds."""

SCALES = (
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/write",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/instanceView/read",
)
"""Actions that an autoscaler needs (learn.microsoft.com, "Azure permissions for Compute"). A write of a scale set whose
model has an image, a subnet or an identity also needs those resources' ``…/read`` or ``…/join/action``: Azure checks
the whole model, although only the capacity changes."""


class AzureGroup:
    """A scale set."""

    in_place = True
    looks_apart_s = 15.0
    """4 lists a minute, of the 10 that Azure allows (``scale_set_observer.py``)."""
    ends_at_once = 1000
    """Larger than any scale set, so there is no limit."""
    apart_s = 5.0
    grows_apart_s = 15.0
    """Azure allows 12 updates of a scale set, and 4 more each minute."""

    def __init__(
        self,
        name: str,
        *,
        resource_group: str,
        session: RequestSender | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
        sets: SetList | None = None,
    ) -> None:
        """``resource_group`` is the path of the resource group. ``sets`` is the list of its scale sets that several
        groups share."""
        self._name, self._clock, self._wait = name, clock, wait
        self._manager = ResourceManager(session)
        self._promptly = ResourceManager(session, prompt=True)
        self._path = f"{resource_group}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}"
        self._observer = ScaleSetObserver(
            self._path, sets=sets or SetList(resource_group, session=session, clock=clock), session=session, clock=clock
        )
        self._read: tuple[float, dict[str, Any]] | None = None
        """Time at which :meth:`size` has read the scale set, and the document."""

    def observe(self, nodes: frozenset[str]) -> GroupObservation:
        """Return the data that an autoscaler needs. The machines may be those of an earlier observation. After too many
        requests, raise Azure's refusal at once: the caller waits as long as Azure requests."""
        return self._observer.observe(nodes)

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
        """Run :meth:`replace` and :meth:`rebuild`, and wait between them. Raise ``CloudError`` when the update takes
        too long."""
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
        document = self._document()
        self._read = self._clock(), document
        return int(document["sku"]["capacity"])

    def resize(self, count: int) -> None:
        """Set the capacity, and leave the rest of the SKU unchanged. Each request is sent once: a repeat could
        overwrite a size that somebody has set since. Azure answers 412 when somebody has changed the scale set since
        this method, or :meth:`size` just before, has read it (REST reference, "Virtual Machine Scale Sets - Update",
        ``If-Match``)."""
        read, self._read = self._read, None
        if read and self._clock() - read[0] <= READ_S:
            document = read[1]
        else:
            document = self._promptly.get(self._path, version=COMPUTE_VERSION)
        body = {"sku": {**document["sku"], "capacity": count}}
        only = {"If-Match": str(document["etag"])} if document.get("etag") else {}
        with self._observer.written():
            self._promptly.ask("PATCH", self._path, version=COMPUTE_VERSION, body=body, headers=only)

    def end(self, machines: Sequence[str], *, replaced: bool = False) -> None:
        """Delete machines in one request, which lowers the capacity by their number (REST reference, "Virtual Machine
        Scale Sets - Delete Instances"). A scale set has no minimum, so ``replaced`` has no effect."""
        body = {"instanceIds": list(machines)}
        with self._observer.written():
            self._promptly.ask("POST", f"{self._path}/delete", version=COMPUTE_VERSION, body=body)

    def made_at(self, machines: Sequence[LiveMachine]) -> dict[str, str]:
        """Return the times of creation. One request for the list is cheaper than one for each machine."""
        wanted = {machine.id for machine in machines}
        items = list(self._manager.pages(f"{self._path}/virtualMachines", version=COMPUTE_VERSION)) if wanted else []
        return {id_: made for id_, made in creation_times(items).items() if id_ in wanted}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the machines that could not be allocated. They stay in the scale set as failed and count towards its
        capacity; their instance view has the reason (REST reference, "Virtual Machine Scale Set VMs - List",
        ``$expand``). A request that exceeds a quota is refused at once, and leaves no such machine."""
        spot = is_spot(self._document())
        items = self._manager.pages(f"{self._path}/virtualMachines", version=COMPUTE_VERSION, expand="instanceView")
        return tuple(refusal for item in items if (refusal := refusal_of(item, spot=spot)))

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
        group.name: AzureGroup(group.name, resource_group=where, sets=_sets(where, credentials()))
        for group in AzurePoolGroups().of_pool(place, name)
    }


@locked_cache
def _sets(resource_group: str, _credentials: tuple[str | None, ...]) -> SetList:
    """Return the list of scale sets that all groups of a resource group share."""
    return SetList(resource_group)
