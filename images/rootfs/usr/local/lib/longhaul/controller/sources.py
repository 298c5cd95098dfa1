"""Inventories of the sites that can have nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.labels import HOSTS_POOL_LABEL
from controller.aws import AwsMachines
from controller.azure import AzureMachines
from controller.identity import AssumedRole, ManagedIdentity
from controller.inventory import Inventory, Listed, Machine, Source


def inventories(environment: NodeEnvironment, *, instance: str, changed: Callable[[], None]) -> dict[str, Inventory]:
    """Return the inventories by site, for cloud sites with pools and for on-premises sites. ``instance`` is the machine
    that asks."""
    identity = ManagedIdentity()
    return {
        name: Inventory(source(environment, site, identity=identity, instance=instance), changed=changed)
        for name, site in environment.sites.items()
        if site.kind not in CLOUDS or environment.pools_of(name)
    }


def source(environment: NodeEnvironment, site: NodeSite, *, identity: ManagedIdentity, instance: str) -> Source:
    """Return the source of one site's list: its cloud, or the document itself."""
    asked = CLOUDS.get(site.kind)
    if asked is not None:
        return asked(environment, site, identity, instance)
    hosts = {
        host.name: Machine(
            name=host.name,
            site=site.name,
            pool=HOSTS_POOL_LABEL,
            # As its place says (components/render/node_files.py).
            zone=site.name,
            addresses=frozenset([host.address]),
        )
        for host in environment.hosts_of(site.name)
    }
    return Listed(site.name, hosts)


def _aws(environment: NodeEnvironment, site: NodeSite, identity: ManagedIdentity, instance: str) -> Source:
    role = AssumedRole(role=environment.aws_role, region=site.region, session_name=instance, identity=identity)
    return AwsMachines(environment, site, role=role)


def _azure(environment: NodeEnvironment, site: NodeSite, identity: ManagedIdentity, _instance: str) -> Source:
    return AzureMachines(environment, site, identity=identity)


CLOUDS: Mapping[str, Callable[[NodeEnvironment, NodeSite, ManagedIdentity, str], Source]] = {
    "aws": _aws,
    "azure": _azure,
}
"""Functions that make the source for a cloud site, by its cloud."""
