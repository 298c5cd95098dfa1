"""Locks of changes: Azure makes one change of a network, or of a gateway, at a time.

A change locks the resources that :func:`held_by` returns. Another change that needs one of these resources is refused,
not queued: 409 AnotherOperationInProgress (hashicorp/terraform-provider-azurerm issue 3780, Azure/sap-automation issue
1052; for connections of one gateway Azure/Azure-Landing-Zones issue 4134, after a shared key was set
Azure/azure-rest-api-specs issue 14473).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.cloud.azure.errors import ArmError, not_provisioned
from lab.cloud.azure.operations import pending
from lab.cloud.azure.schema.local_network_gateway import CONNECTION_TYPE
from lab.cloud.store import DocumentStore, ResourceDocument

IN_A_NETWORK = frozenset(
    {"Microsoft.Network/virtualNetworks/subnets", "Microsoft.Network/virtualNetworks/virtualNetworkPeerings"}
)
"""Types that are parts of a network."""


def held_by(resource_id: str, type: str, body: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of the resources that a change of a resource locks: the resource itself, the network that
    contains the resource, and the gateway of a connection."""
    locked = {resource_id.lower()}
    if type in IN_A_NETWORK:
        locked.add(resource_id.lower().rsplit("/", 2)[0])
    if type == CONNECTION_TYPE:
        locked.add(str(body["properties"]["virtualNetworkGateway1"]["id"]).lower())
    return frozenset(locked)


def free(store: DocumentStore, resource_id: str, type: str, body: Mapping[str, Any]) -> None:
    """Refuse a change of a resource while another change locks a resource that it needs.

    Raises:
        ArmError: 409 AnotherOperationInProgress.
    """
    wanted = held_by(resource_id, type, body)
    for operation, record in pending(store).items():
        if not wanted.isdisjoint(record["held"]):
            provider = f"subscriptions/{resource_id.split('/')[2]}/providers/Microsoft.Network"
            raise ArmError(
                409,
                "AnotherOperationInProgress",
                "Another operation on this or dependent resource is in progress. To retrieve status of the operation "
                f"use uri: https://management.azure.com/{provider}/locations/{body.get('location', 'global')}/"
                f"operations/{operation}?api-version=2024-11-01.",
            )


def provisioned(store: DocumentStore, document: ResourceDocument, *, by: str) -> None:
    """Refuse a reference to a network while a change of the network or of one of its parts is under way.

    Raises:
        ArmError: 400 ReferencedResourceNotProvisioned (hashicorp/terraform-provider-azurerm issue 2605,
            pulumi/pulumi-azure-native issue 4340).
    """
    if any(document.key in record["held"] for record in pending(store).values()):
        raise not_provisioned(document.id, by=by)
