"""Lists of machines of the sites that can have nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from clouds.base.machine_lists import ListedMachine, MachineList
from clouds.registry import clouds
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.labels import HOSTS_POOL_LABEL
from services.node_controller.inventory import Inventory


class DeclaredHosts(MachineList):
    """Hosts of an on-premises site, by the environment's document."""

    def __init__(self, site: str, hosts: Mapping[str, ListedMachine]) -> None:
        super().__init__(site)
        self._hosts = hosts

    def everything(self) -> Mapping[str, ListedMachine]:
        """Return every host of the site."""
        return self._hosts

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        """Return the named hosts of the site."""
        return {name: self._hosts[name] for name in names if name in self._hosts}


def inventories(environment: NodeEnvironment, *, changed: Callable[[], None]) -> dict[str, Inventory]:
    """Return the inventories by site, for cloud sites with pools and for on-premises sites."""
    return {
        name: Inventory(machine_list(environment, site), changed=changed)
        for name, site in environment.sites.items()
        if not clouds()[site.kind].rents or environment.pools_of(name)
    }


def machine_list(environment: NodeEnvironment, site: NodeSite) -> MachineList:
    """Return the list of a site's machines: the cloud's list, or the hosts in the document."""
    listed = clouds()[site.kind].machine_list(environment, site)
    if listed is not None:
        return listed
    hosts = {
        host.name: ListedMachine(
            name=host.name,
            site=site.name,
            pool=HOSTS_POOL_LABEL,
            # As its place says (components/render/node_files.py).
            zone=site.name,
            addresses=frozenset([host.address]),
        )
        for host in environment.hosts_of(site.name)
    }
    return DeclaredHosts(site.name, hosts)
