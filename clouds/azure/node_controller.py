"""Access of the node controller to machines in Azure. It lists them in the resource manager, with its own machine's
identity."""

from __future__ import annotations

from clouds.azure.names import resource_group
from clouds.azure.site import AzureSite
from clouds.base.place import Place


def takes_role() -> bool:
    """Return false: the node controller runs in Azure itself."""
    return False


def settings(place: Place[AzureSite]) -> dict[str, str]:
    """Return the resource group in which it lists machines, and the tenant whose tokens prove the machines'
    identity."""
    site = place.site
    return {
        "region": site.region,
        "subscription": site.subscription,
        "resource_group": resource_group(place),
        "tenant": site.tenant,
    }
