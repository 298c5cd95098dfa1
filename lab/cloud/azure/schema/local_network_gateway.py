"""Microsoft.Network/localNetworkGateways: gateways of other sites, as Azure knows them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/localNetworkGateways"
CONNECTION_TYPE = "Microsoft.Network/connections"


class GatewayAddressSpace(BodyPart):
    """Ranges behind the gateway."""

    address_prefixes: list[IPv4Network] = Field(min_length=1)


class LocalNetworkGatewayProperties(BodyPart):
    """Properties of a local network gateway."""

    gateway_ip_address: IPv4Address
    local_network_address_space: GatewayAddressSpace


class LocalNetworkGateway(Located):
    """A gateway of another site."""

    properties: LocalNetworkGatewayProperties


def connections_of(store: DocumentStore, gateway_id: str) -> list[ResourceDocument]:
    """Return the connections that lead to the gateway."""
    return [
        connection
        for connection in store.of_type(CONNECTION_TYPE)
        if connection.body["properties"]["localNetworkGateway2"]["id"].lower() == gateway_id.lower()
    ]


def check(put: Put) -> None:
    """Refuse ranges that overlap each other."""
    ranges = [IPv4Network(text) for text in put.body["properties"]["localNetworkAddressSpace"]["addressPrefixes"]]
    for index, range_ in enumerate(ranges):
        for other in ranges[index + 1 :]:
            if range_.overlaps(other):
                raise ArmError(
                    400, "AddressPrefixesOverlap", f"Address prefixes {range_} and {other} of {put.id.name} overlap."
                )


def view(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    """Return no further properties."""
    return {}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a gateway while a connection leads to it."""
    connections = connections_of(store, document.id)
    if connections:
        raise ArmError(
            400,
            "LocalNetworkGatewayCannotBeDeleted",
            f"Local network gateway {document.id} cannot be deleted: it is used by the connections "
            f"{', '.join(connection.id for connection in connections)}. Delete them first.",
        )


SPEC = TypeSpec(type=TYPE, model=LocalNetworkGateway, check=check, view=view, in_use=in_use)
