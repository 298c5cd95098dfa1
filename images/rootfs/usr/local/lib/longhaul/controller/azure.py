"""Machines of an Azure site: the virtual machines of its pools' scale sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from join_endpoint.web import SourceError, fetch_json

from contract.documents.node_controller import NodeEnvironment, NodePool, NodeSite
from controller.identity import ManagedIdentity
from controller.inventory import Machine, State

MANAGEMENT = "https://management.azure.com"

COMPUTE_VERSION = "2024-07-01"

NETWORK_VERSION = "2018-10-01"
"""API version of the only call that lists every interface of a scale set (Azure/azure-rest-api-specs,
vmssNetworkInterface.json)."""


class AzureMachines:
    """Reads the machines of one site with two listings for each scale set: its machines and their interfaces."""

    def __init__(
        self, environment: NodeEnvironment, site: NodeSite, *, identity: ManagedIdentity, endpoint: str = MANAGEMENT
    ) -> None:
        self.site, self._region = site.name, site.region
        self._pools = environment.pools_of(site.name)
        self._identity, self._endpoint = identity, endpoint
        self._group = f"/subscriptions/{site.subscription}/resourceGroups/{site.resource_group}"

    def everything(self) -> Mapping[str, Machine]:
        """Return every machine of the site's pools."""
        return {machine.name: machine for pool, group in self._groups() for machine in self._machines(pool, group)}

    def some(self, names: Iterable[str]) -> Mapping[str, Machine]:
        """Return every machine of the scale sets whose name is the prefix of a given name: Azure has no query by
        computer name."""
        asked = tuple(names)
        groups = [each for each in self._groups() if any(name.startswith(f"{each[1]}-") for name in asked)]
        return {machine.name: machine for pool, group in groups for machine in self._machines(pool, group)}

    def _groups(self) -> Iterator[tuple[NodePool, str]]:
        """Yield every scale set with its pool."""
        yield from ((pool, group) for pool in self._pools for group in pool.groups)

    def _machines(self, pool: NodePool, group: str) -> Iterator[Machine]:
        # Interfaces first: a machine created between the two listings lacks its address once, but no machine gets
        # another's.
        addresses = dict(self._addresses(group))
        for item in self._list(group, "virtualMachines", COMPUTE_VERSION):
            properties = item.get("properties", {})
            name = str(properties.get("osProfile", {}).get("computerName") or "").lower()
            if not name:
                continue
            zones = item.get("zones") or []
            ending = str(properties.get("provisioningState", "")).lower() == "deleting"
            yield Machine(
                name=name,
                identity=str(properties.get("vmId") or "").lower(),
                site=self.site,
                pool=pool.name,
                # As the machine reads it from its metadata (machine/metadata.py).
                zone=f"{self._region}-{zones[0]}" if zones else self._region,
                group=group,
                addresses=frozenset(addresses.get(str(item.get("id", "")).lower(), ())),
                state=State.ENDING if ending else State.THERE,
            )

    def _addresses(self, group: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each machine's id with its own addresses; the other addresses of the interface belong to its pods."""
        for item in self._list(group, "networkInterfaces", NETWORK_VERSION):
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
        path = f"{self._group}/providers/Microsoft.Compute/virtualMachineScaleSets/{group}/{kind}"
        url = f"{self._endpoint}{path}?api-version={version}"
        what = f"{kind} of scale set {group}"
        while url:
            answer = fetch_json(url, what=what, headers={"Authorization": f"Bearer {self._identity.token()}"})
            if not isinstance(answer.get("value"), list):
                raise SourceError(f"{what}: the answer holds no list")
            yield from answer["value"]
            url = str(answer.get("nextLink") or "")
            if url and not url.startswith(f"{self._endpoint}/"):
                raise SourceError(f"{what}: the next page is elsewhere: {url[:100]}")
