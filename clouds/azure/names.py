"""Names of an environment's resources in Azure, and their largest lengths (learn.microsoft.com, "Naming rules and
restrictions for Azure resources")."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure.existing_section import name_of
from clouds.azure.groups import AzurePoolGroups
from clouds.azure.site import AzureSite
from clouds.base.names import NODE, LimitedName, MainName, ResourceNames
from clouds.base.place import Place

STORAGE = "Microsoft.Storage"
"""Resource provider of backups, and the service endpoint through which a subnet reaches blobs without leaving Azure's
network."""

GATEWAY_SUBNET = "GatewaySubnet"
"""Name that Azure requires for a VPN gateway's subnet."""

NETWORK_PART = 80
"""Largest number of characters of a connection, a local network gateway and most other parts of networks."""

NETWORK = 64
"""Largest number of characters of a virtual network."""

GROUP = 90
"""Largest number of characters of a resource group."""

MACHINE = 64
"""Largest number of characters of a Linux machine and of a scale set."""

INSTANCE = 6
"""Number of characters that a scale set adds to the prefix of its machines' names (learn.microsoft.com, "Learn about
instance IDs and VM names for Virtual Machine Scale Sets")."""


def resource_group(place: Place[AzureSite]) -> str:
    """Return the resource group of a site's resources: the existing one that the site names, else Longhaul's."""
    return place.site.existing.resource_group or place.cloud_name(f"{place.environment}-{place.name}")


def resource_group_path(place: Place[AzureSite]) -> str:
    """Return the path of that resource group in the resource manager."""
    return f"/subscriptions/{place.site.subscription}/resourceGroups/{resource_group(place)}"


def subnet_name(place: Place[AzureSite], part: str) -> str:
    """Return the name of the subnet that Longhaul makes for a part of a site. In an existing network it contains the
    environment and the site, because a name such as ``api`` may be in use there."""
    if part == "gateway":
        return GATEWAY_SUBNET
    in_one_of_theirs = place.site.existing.network is not None
    return place.cloud_name(f"{place.environment}-{place.name}-{part}" if in_one_of_theirs else part)


class AzureResourceNames(ResourceNames[AzureSite]):
    """Names in Azure."""

    def main(self, place: Place[AzureSite]) -> Iterator[MainName]:
        """Yield the names of the site's resource group and virtual network."""
        there = place.site.existing
        yield MainName(what="resource group", name=resource_group(place), existing=there.resource_group is not None)
        network = name_of(there.network) if there.network else place.cloud_name(f"{place.environment}-{place.name}")
        yield MainName(what="virtual network", name=network, existing=there.network is not None)

    def of_site(self, place: Place[AzureSite]) -> Iterator[LimitedName]:
        """Yield the names of the site's resource group and virtual network."""
        network = place.cloud_name(f"{place.environment}-{place.name}")
        yield LimitedName(what="a resource group", name=resource_group(place), most=GROUP)
        yield LimitedName(what="a virtual network", name=network, most=NETWORK)

    def of_pool(self, place: Place[AzureSite], pool: str) -> Iterator[LimitedName]:
        """Yield the names of the pool's scale sets, and of the nodes in them."""
        for group in AzurePoolGroups().of_pool(place, pool):
            yield LimitedName(what="a scale set", name=group.name, most=MACHINE)
            yield LimitedName(what="a node", name=f"{group.name}-{'0' * INSTANCE}", most=NODE)

    def of_link(self, place: Place[AzureSite], link: str, end: str) -> Iterator[LimitedName]:
        """Yield the name of the connection to an end of another site, as ``components/environment/links.py`` makes
        it."""
        name = place.cloud_name(f"{place.environment}-links-{link}-{end}")
        yield LimitedName(what="a connection", name=name, most=NETWORK_PART)
