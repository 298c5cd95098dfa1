"""The machines of an Azure site: those of its pools' scale sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.environment import Environment, Pool, Site
from controller.identity import ManagedIdentity
from controller.inventory import Machine, SourceError, State
from controller.web import fetch_json

MANAGEMENT = "https://management.azure.com"

COMPUTE_VERSION = "2024-07-01"

NETWORK_VERSION = "2018-10-01"
"""The version of the one call that lists every interface of a scale set (Azure/azure-rest-api-specs,
vmssNetworkInterface.json)."""


class AzureMachines:
    """Two listings for each scale set: its machines and their interfaces."""

    def __init__(
        self, environment: Environment, site: Site, *, identity: ManagedIdentity, endpoint: str = MANAGEMENT
    ) -> None:
        self.site = site.name
        self._pools = environment.pools_of(site.name)
        self._identity, self._endpoint = identity, endpoint
        self._group = f"/subscriptions/{site.subscription}/resourceGroups/{site.resource_group}"

    def everything(self) -> Mapping[str, Machine]:
        """Every machine of the site's pools."""
        return {machine.name: machine for pool in self._pools for machine in self._machines(pool)}

    def some(self, names: Iterable[str]) -> Mapping[str, Machine]:
        """Every machine of the pools whose names begin as these do: Azure cannot be asked for a computer's name."""
        asked = tuple(names)
        pools = [pool for pool in self._pools if any(name.startswith(f"{pool.group}-") for name in asked)]
        return {machine.name: machine for pool in pools for machine in self._machines(pool)}

    def _machines(self, pool: Pool) -> Iterator[Machine]:
        # Interfaces first: a machine that comes in between lacks its address for one listing, none has another's.
        addresses = dict(self._addresses(pool))
        for item in self._list(pool, "virtualMachines", COMPUTE_VERSION):
            properties = item.get("properties", {})
            name = str(properties.get("osProfile", {}).get("computerName") or "").lower()
            if not name:
                continue
            ending = str(properties.get("provisioningState", "")).lower() == "deleting"
            yield Machine(
                name=name,
                site=self.site,
                pool=pool.name,
                addresses=frozenset(addresses.get(str(item.get("id", "")).lower(), ())),
                state=State.ENDING if ending else State.THERE,
            )

    def _addresses(self, pool: Pool) -> Iterator[tuple[str, list[str]]]:
        """By machine's id, its own address: the others of the interface are its pods'."""
        for item in self._list(pool, "networkInterfaces", NETWORK_VERSION):
            properties = item.get("properties", {})
            if not properties.get("primary", True):
                continue
            own = [
                str(each["properties"]["privateIPAddress"])
                for each in properties.get("ipConfigurations", [])
                if each.get("properties", {}).get("primary") and each["properties"].get("privateIPAddress")
            ]
            yield str(properties.get("virtualMachine", {}).get("id", "")).lower(), own

    def _list(self, pool: Pool, kind: str, version: str) -> Iterator[dict[str, Any]]:
        path = f"{self._group}/providers/Microsoft.Compute/virtualMachineScaleSets/{pool.group}/{kind}"
        url = f"{self._endpoint}{path}?api-version={version}"
        what = f"{kind} of scale set {pool.group}"
        while url:
            answer = fetch_json(url, what=what, headers={"Authorization": f"Bearer {self._identity.token()}"})
            if not isinstance(answer.get("value"), list):
                raise SourceError(f"{what}: the answer holds no list")
            yield from answer["value"]
            url = str(answer.get("nextLink") or "")
            if url and not url.startswith(f"{self._endpoint}/"):
                raise SourceError(f"{what}: the next page is elsewhere: {url[:100]}")
