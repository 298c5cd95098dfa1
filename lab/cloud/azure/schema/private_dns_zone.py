"""Microsoft.Network/privateDnsZones."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import BodyPart, GlobalBody, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/privateDnsZones"
LINK_TYPE = f"{TYPE}/virtualNetworkLinks"
RECORD_TYPE = f"{TYPE}/A"


class PrivateDnsZoneProperties(BodyPart):
    """Properties of a zone; there are none."""


class PrivateZone(GlobalBody):
    """A private DNS zone."""

    properties: PrivateDnsZoneProperties = Field(default_factory=PrivateDnsZoneProperties)


def check(put: Put) -> None:
    """Refuse a name with fewer than two labels (learn.microsoft.com/azure/dns/private-dns-privatednszone)."""
    if put.id.name.count(".") < 1:
        raise ArmError(400, "BadRequest", f"The zone name '{put.id.name}' has fewer than two labels.")


def _children(store: DocumentStore, document: ResourceDocument, type: str) -> list[ResourceDocument]:
    return [child for child in store.below(document.id) if child.type.lower() == type.lower()]


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the number of record sets, including the zone's SOA record, and the number of links."""
    return {
        "numberOfRecordSets": 1 + len(_children(store, document, RECORD_TYPE)),
        "numberOfVirtualNetworkLinks": len(_children(store, document, LINK_TYPE)),
    }


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a zone while a network is linked to it."""
    links = _children(store, document, LINK_TYPE)
    if links:
        raise ArmError(
            409,
            "CannotDeleteResource",
            f"Can not delete resource before nested resources are deleted: {', '.join(link.id for link in links)}.",
        )


SPEC = TypeSpec(
    type=TYPE,
    model=PrivateZone,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset({"numberOfRecordSets", "numberOfVirtualNetworkLinks"}),
)
