"""Microsoft.Network/privateDnsZones/virtualNetworkLinks."""

from __future__ import annotations

from typing import Any, Literal

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import private_dns_zone, virtual_network
from lab.cloud.azure.schema.base import BodyPart, GlobalBody, Put, Ref, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = private_dns_zone.LINK_TYPE


class PrivateDnsLinkProperties(BodyPart):
    """Properties of a link: the network that can resolve the zone's names."""

    virtual_network: Ref
    registration_enabled: Literal[False] = False
    """The lab does not register machines automatically."""
    resolution_policy: Literal["Default"] = "Default"


class VirtualNetworkLink(GlobalBody):
    """A link from a zone to a network."""

    properties: PrivateDnsLinkProperties


def check(put: Put) -> None:
    """Refuse a zone or a network that does not exist, and a second link between the same two."""
    zone = put.store.get(put.id.parent or "")
    if zone is None:
        raise ArmError(404, "ParentResourceNotFound", f"The private DNS zone '{put.id.parent}' was not found.")
    network = put.find(put.body["properties"]["virtualNetwork"]["id"], type=virtual_network.TYPE)
    for other in put.store.below(zone.id):
        another = other.type.lower() == TYPE.lower() and other.key != put.id.text.lower()
        if another and other.body["properties"]["virtualNetwork"]["id"].lower() == network.key:
            raise ArmError(
                409,
                "Conflict",
                f"The virtual network '{network.id}' is already linked to zone '{zone.name}' by {other.id}.",
            )


def view(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    """Return the state of the link, which is complete at once."""
    return {"virtualNetworkLinkState": "Completed"}


SPEC = TypeSpec(
    type=TYPE,
    model=VirtualNetworkLink,
    check=check,
    view=view,
    parent=private_dns_zone.TYPE,
    read_only=frozenset({"virtualNetworkLinkState"}),
)
