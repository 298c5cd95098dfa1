"""Machines in Azure to the node controller, which asks the resource manager for them with its machine's identity."""

from __future__ import annotations

from clouds.azure.names import resource_group
from clouds.azure.site import AzureSite
from clouds.base.place import Place


def takes_role() -> bool:
    """No: it is in Azure itself."""
    return False


def source(place: Place[AzureSite]) -> dict[str, str]:
    """The group that it lists, and whose tokens machines prove themselves by."""
    site = place.site
    return {
        "region": site.region,
        "subscription": site.subscription,
        "resource_group": resource_group(place),
        "tenant": site.tenant,
    }
