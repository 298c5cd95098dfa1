"""Microsoft.Network/publicIPAddresses: static addresses from the lab's documentation range.

An address belongs to one resource at a time, until it is removed from that resource
(learn.microsoft.com/azure/virtual-network/ip-services/public-ip-addresses): to a NAT gateway, or to an IP configuration
of a VPN gateway or of a network interface. The wording of the refusals is that of recorded answers
(MicrosoftLearning/AZ-100-MicrosoftAzureInfrastructureDeployment issue 15, oap-project/cloudtik issue 158).
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.zones import completed
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/publicIPAddresses"
POOL = IPv4Network("198.51.100.64/27")
"""Azure's share of TEST-NET-2 (RFC 5737). The addresses are public inside the lab only."""


class PublicIpAddressSku(BodyPart):
    """SKU of an address: only standard addresses can be static and used by a NAT gateway."""

    name: Literal["Standard"]
    tier: Literal["Regional"] = "Regional"


class PublicIpAddressProperties(BodyPart):
    """Properties of an address."""

    public_ip_allocation_method: Literal["Static"] = Field(alias="publicIPAllocationMethod")
    public_ip_address_version: Literal["IPv4"] = Field(default="IPv4", alias="publicIPAddressVersion")
    idle_timeout_in_minutes: int = Field(default=4, ge=4, le=30)


class PublicIPAddress(Located):
    """A public address."""

    sku: PublicIpAddressSku
    zones: list[str] | None = Field(default=None, min_length=1)
    properties: PublicIpAddressProperties


def check(put: Put) -> None:
    """Choose the address at creation, and keep it for the resource's life. Complete its zones."""
    if "zones" in put.body:
        zones, kept = completed(put.body["zones"], of=put.id.text), put.old.body.get("zones", []) if put.old else []
        put.body["zones"] = kept if set(kept) == set(zones) else zones
    if put.old:
        put.hidden["address"] = put.old.hidden["address"]
        return
    taken = {document.hidden["address"] for document in put.store.of_type(TYPE)}
    for address in POOL.hosts():
        if str(address) not in taken:
            put.hidden["address"] = str(address)
            return
    raise ArmError(
        400,
        "PublicIPCountLimitReached",
        f"Cannot create more than {len(taken)} public IP addresses: {POOL} is used up.",
    )


def _nat_gateway(store: DocumentStore, address_id: str) -> ResourceDocument | None:
    for gateway in store.of_type("Microsoft.Network/natGateways"):
        ids = [ref["id"].lower() for ref in gateway.body["properties"].get("publicIpAddresses", ())]
        if address_id.lower() in ids:
            return gateway
    return None


def _configuration(store: DocumentStore, address_id: str) -> tuple[ResourceDocument, str] | None:
    """Return the VPN gateway or interface that holds an address, and the id of the configuration that names the
    address."""
    for type in ("Microsoft.Network/virtualNetworkGateways", "Microsoft.Network/networkInterfaces"):
        for holder in store.of_type(type):
            for item in holder.body["properties"]["ipConfigurations"]:
                if item["properties"].get("publicIPAddress", {}).get("id", "").lower() == address_id.lower():
                    return holder, f"{holder.id}/ipConfigurations/{item['name']}"
    return None


def _holder(store: DocumentStore, address_id: str) -> tuple[ResourceDocument, str] | None:
    """Return the resource that holds an address, and the id by which Azure's errors name it."""
    if holder := _configuration(store, address_id):
        return holder
    gateway = _nat_gateway(store, address_id)
    return (gateway, gateway.id) if gateway else None


def addresses_of(store: DocumentStore, gateway: ResourceDocument) -> list[ResourceDocument]:
    """Return the public addresses of a VPN gateway, one for each instance, in order."""
    refs = [item["properties"]["publicIPAddress"]["id"] for item in gateway.body["properties"]["ipConfigurations"]]
    return [address for address in map(store.get, refs) if address]


def check_free(put: Put, address: ResourceDocument, *, part: str = "") -> None:
    """Refuse an address that another resource holds. ``part``: path of the configuration that names it, below the
    resource."""
    holder = _holder(put.store, address.id)
    if holder and holder[0].key != put.id.text.lower():
        raise ArmError(
            400,
            "PublicIPAddressInUse",
            f"Resource {put.id.text}{part} is referencing public IP address {address.id} that is already allocated to "
            f"resource {holder[1]}.",
        )


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the address and its holder."""
    gateway = _nat_gateway(store, document.id)
    configuration = _configuration(store, document.id)
    holder = (
        {"natGateway": {"id": gateway.id}}
        if gateway
        else {"ipConfiguration": {"id": configuration[1]}}
        if configuration
        else {}
    )
    return {"ipAddress": document.hidden["address"], "ipTags": [], **holder}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete an address while a resource holds it."""
    if holder := _holder(store, document.id):
        raise ArmError(
            400,
            "PublicIPAddressCannotBeDeleted",
            f"Public IP address {document.id} can not be deleted since it is still allocated to resource {holder[1]}. "
            "In order to delete the public IP, disassociate/detach the Public IP address from the resource.",
        )


SPEC = TypeSpec(
    type=TYPE,
    model=PublicIPAddress,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset({"ipAddress", "ipTags", "natGateway", "ipConfiguration"}),
)
