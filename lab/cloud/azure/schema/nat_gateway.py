"""Microsoft.Network/natGateways."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import public_ip_address
from lab.cloud.azure.schema.base import BodyPart, Located, Put, Ref, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/natGateways"


class NatGatewaySku(BodyPart):
    """SKU of a NAT gateway; there is only one."""

    name: Literal["Standard"]


class NatGatewayProperties(BodyPart):
    """Properties of a NAT gateway."""

    public_ip_addresses: list[Ref] = Field(default_factory=list, max_length=16)
    """At most 16 addresses, as in Azure (azure-docs ``nat-gateway-resource.md``, "Static public IP addresses")."""
    idle_timeout_in_minutes: int = Field(default=4, ge=4, le=120)


class NatGateway(Located):
    """A NAT gateway."""

    sku: NatGatewaySku
    zones: list[str] | None = Field(default=None, max_length=1)
    properties: NatGatewayProperties = Field(default_factory=NatGatewayProperties)


def check(put: Put) -> None:
    """Refuse addresses that do not exist, are in another region, or belong to another resource."""
    for ref in put.body["properties"]["publicIpAddresses"]:
        address = put.find(ref["id"], type=public_ip_address.TYPE)
        put.same_region(address)
        public_ip_address.check_free(put, address)


def subnets(store: DocumentStore, gateway_id: str) -> list[str]:
    """Return the ids of the subnets that use the gateway."""
    return [
        document.id
        for document in store.of_type("Microsoft.Network/virtualNetworks/subnets")
        if document.body["properties"].get("natGateway", {}).get("id", "").lower() == gateway_id.lower()
    ]


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the subnets that use the gateway."""
    served = subnets(store, document.id)
    return {"subnets": [{"id": subnet} for subnet in served]} if served else {}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a gateway while a subnet uses it."""
    served = subnets(store, document.id)
    if served:
        raise ArmError(
            400,
            "NatGatewayInUse",
            f"NAT gateway {document.id} cannot be deleted: it is in use by subnets {', '.join(served)}.",
        )


SPEC = TypeSpec(type=TYPE, model=NatGateway, check=check, view=view, in_use=in_use, read_only=frozenset({"subnets"}))
