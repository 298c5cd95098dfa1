"""Machines of an Azure site: the virtual machines of its pools' scale sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clouds.azure.resource_manager import ResourceManager
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.machine_lists import ListedMachine, MachineList, Presence
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool

MACHINES = "virtualMachines"
"""Last part of the path of the list of a scale set's machines."""
INTERFACES_VERSION = "2018-10-01"
"""API version of the only call that lists every interface of a scale set (Azure/azure-rest-api-specs,
vmssNetworkInterface.json)."""


PAGE_S = 10.0
"""Shortest time between two lists of all machines, in seconds for each page of the longest list."""


class AzureMachineList(MachineList):
    """Machines of one site, by two lists for each scale set: its machines and their interfaces."""

    def __init__(self, environment: NodeEnvironment, site: NodeSite, *, manager: ResourceManager | None = None) -> None:
        super().__init__(site.name)
        self._region, self._manager = site.region, manager or ResourceManager()
        self._groups = [(pool, group) for pool in environment.pools_of(site.name) for group in pool.groups]
        self._resource_group = f"/subscriptions/{site.subscription}/resourceGroups/{site.resource_group}"
        self._pages: dict[str, int] = {}
        """Number of pages of each scale set's last list of machines."""

    @property
    def apart_s(self) -> float:
        """Shortest time between two lists, seconds: 6 requests a minute for each scale set. An autoscaler uses 4 more
        (``scale_set_observer.py``, which names the limit)."""
        return PAGE_S * max(self._pages.values(), default=1)

    def everything(self) -> Mapping[str, ListedMachine]:
        """Return every machine of the site's pools."""
        return {machine.name: machine for pool, group in self._groups for machine in self._machines(pool, group)}

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        """Return every machine of the scale sets whose names are prefixes of the given names: Azure has no query by
        computer name."""
        wanted = tuple(names)
        groups = [each for each in self._groups if any(name.startswith(f"{each[1]}-") for name in wanted)]
        return {machine.name: machine for pool, group in groups for machine in self._machines(pool, group)}

    def _machines(self, pool: DeclaredPool, group: str) -> Iterator[ListedMachine]:
        # Interfaces first: a machine that is created between the two lists lacks its address once, but no machine
        # gets the address of another one.
        addresses = dict(self._addresses(group))
        for item in self._list(group, MACHINES, COMPUTE_VERSION):
            properties = item.get("properties", {})
            name = str(properties.get("osProfile", {}).get("computerName") or "").lower()
            if not name:
                continue
            zones = item.get("zones") or []
            ending = str(properties.get("provisioningState", "")).lower() == "deleting"
            yield ListedMachine(
                name=name,
                identity=str(properties.get("vmId") or "").lower(),
                site=self.site,
                pool=pool.name,
                # As the machine reads it from its metadata (machine/metadata.py).
                zone=f"{self._region}-{zones[0]}" if zones else self._region,
                group=group,
                addresses=frozenset(addresses.get(str(item.get("id", "")).lower(), ())),
                presence=Presence.ENDING if ending else Presence.THERE,
            )

    def _addresses(self, group: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each machine's id with its own addresses; the other addresses of the interface belong to its pods."""
        for item in self._list(group, "networkInterfaces", INTERFACES_VERSION):
            properties = item.get("properties", {})
            if not properties.get("primary", True):
                continue
            addresses = [
                str(each["properties"]["privateIPAddress"])
                for each in properties.get("ipConfigurations", [])
                if each.get("properties", {}).get("primary") and each["properties"].get("privateIPAddress")
            ]
            yield str(properties.get("virtualMachine", {}).get("id", "")).lower(), addresses

    def _list(self, group: str, kind: str, version: str) -> Iterator[dict[str, Any]]:
        path = f"{self._resource_group}/providers/Microsoft.Compute/virtualMachineScaleSets/{group}/{kind}"
        pages = 0
        for page in self._manager.page_by_page(path, version=version):
            pages += 1
            yield from page
        if kind == MACHINES:
            self._pages[group] = pages
