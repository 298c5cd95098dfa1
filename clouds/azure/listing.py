"""Resources of an environment that Azure itself lists: public addresses, and all remaining resources.

Fields: learn.microsoft.com, "Public IP Addresses - List". All resources have tags (clouds/base/tags.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clouds.azure.names import resource_group_path
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.site import AzureSite
from clouds.azure.versions import GROUPS_VERSION, NETWORK_VERSION
from clouds.base.listing import PublicAddress, ResourceListing
from clouds.base.place import Place
from contract.tag_keys import ENVIRONMENT

GATEWAYS = ("natgateways", "virtualnetworkgateways", "bastionhosts")
"""Types of resources that may hold a public address: NAT gateways, VPN gateways and Azure's bastion."""


class AzureResourceListing(ResourceListing[AzureSite]):
    """Resources of an environment that Azure itself lists."""

    def public_addresses(self, place: Place[AzureSite]) -> Iterator[PublicAddress]:
        """Yield the public addresses in the site's resource group. In a group that is not the environment's own, yield
        only addresses with the environment's tag."""
        manager, group = ResourceManager(), resource_group_path(place)
        ours = _tagged(manager.find(group, version=GROUPS_VERSION) or {}, place.environment)
        for item in manager.pages(f"{group}/providers/Microsoft.Network/publicIPAddresses", version=NETWORK_VERSION):
            if not ours and not _tagged(item, place.environment):
                continue
            properties = item["properties"]
            holder = (properties.get("natGateway") or properties.get("ipConfiguration") or {}).get("id", "")
            parts = holder.split("/")
            # …/providers/Microsoft.Network/<type>/<name>/…
            kind, holding = (parts[7], parts[8]) if len(parts) > 8 else ("nobody", "")
            yield PublicAddress(
                address=str(properties.get("ipAddress") or item["name"]),
                holder=f"{kind} {holding}".strip(),
                allowed=not holder or kind.lower() in GATEWAYS,
            )

    def remaining(self, place: Place[AzureSite]) -> list[str]:
        """Return the resource group, or the environment's resources in a group that is not its own."""
        manager, group = ResourceManager(), resource_group_path(place)
        document = manager.find(group, version=GROUPS_VERSION)
        if document is None:
            return []
        if _tagged(document, place.environment):
            return [f"resource group {document['name']}"]
        listed = manager.pages(f"{group}/resources", version=GROUPS_VERSION)
        return [f"{item['type']} {item['name']}" for item in listed if _tagged(item, place.environment)]


def _tagged(item: Mapping[str, Any], env: str) -> bool:
    return bool((item.get("tags") or {}).get(ENVIRONMENT) == env)
