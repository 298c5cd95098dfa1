"""Rights to read the operations that changes start: a client polls until a change ends, and each poll is a request with
a right of its own, which the resource's rights do not include.

Sources: azure-docs, "Track asynchronous Azure operations" ("Permission for tracking async status"), and
``role-based-access-control/permissions``: ``networking.md``, ``compute.md``, ``storage.md``, ``security.md``,
``management-and-governance.md``. Addresses of operations on private zones:
kubernetes-sigs/cluster-api-provider-azure and the REST reference, "Private Zones - Create Or Update".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clouds.azure.names import STORAGE

_NETWORK: Final = ("Microsoft.Network/locations/operations/read", "Microsoft.Network/locations/operationResults/read")
_PRIVATE_DNS: Final = (
    "Microsoft.Network/privateDnsOperationStatuses/read",
    "Microsoft.Network/privateDnsOperationResults/read",
)
_MACHINES: Final = ("Microsoft.Compute/locations/operations/read",)
_DISKS: Final = ("Microsoft.Compute/locations/diskOperations/read",)
_VAULT: Final = ("Microsoft.KeyVault/locations/operationResults/read",)
_STORAGE: Final = (f"{STORAGE}/operations/read",)

POLLED_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Microsoft.Authorization/roleAssignments": (),
    "Microsoft.Compute/disks": _DISKS,
    "Microsoft.Compute/snapshots": _DISKS,
    "Microsoft.Compute/virtualMachines": _MACHINES,
    "Microsoft.Compute/virtualMachineScaleSets": _MACHINES,
    "Microsoft.KeyVault/vaults": _VAULT,
    "Microsoft.ManagedIdentity/userAssignedIdentities": (),
    "Microsoft.Network/connections": _NETWORK,
    "Microsoft.Network/loadBalancers": _NETWORK,
    "Microsoft.Network/localNetworkGateways": _NETWORK,
    "Microsoft.Network/natGateways": _NETWORK,
    "Microsoft.Network/networkInterfaces": _NETWORK,
    "Microsoft.Network/networkSecurityGroups": _NETWORK,
    "Microsoft.Network/privateDnsZones": _PRIVATE_DNS,
    "Microsoft.Network/privateDnsZones/A": (),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": _PRIVATE_DNS,
    "Microsoft.Network/publicIPAddresses": _NETWORK,
    "Microsoft.Network/virtualNetworkGateways": _NETWORK,
    "Microsoft.Network/virtualNetworks": _NETWORK,
    "Microsoft.Network/virtualNetworks/subnets": _NETWORK,
    "Microsoft.Network/virtualNetworks/virtualNetworkPeerings": _NETWORK,
    "Microsoft.Resources/subscriptions/resourceGroups": ("Microsoft.Resources/subscriptions/operationresults/read",),
    "Microsoft.Storage/storageAccounts": _STORAGE,
    "Microsoft.Storage/storageAccounts/blobServices/containers": (),
    "Microsoft.Storage/storageAccounts/managementPolicies": (),
}
"""Rights that polling needs, by type of the resource that is made, changed or deleted. Types without rights answer at
once."""


def polling_rights() -> tuple[str, ...]:
    """Return every right that polling needs, each once."""
    return tuple(dict.fromkeys(right for rights in POLLED_OPERATIONS.values() for right in rights))
