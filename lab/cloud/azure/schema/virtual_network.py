"""Microsoft.Network/virtualNetworks."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.occupancy import users
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/virtualNetworks"
SUBNET_TYPE = "Microsoft.Network/virtualNetworks/subnets"


class NetworkAddressSpace(BodyPart):
    """Ranges of the network."""

    address_prefixes: list[IPv4Network] = Field(min_length=1)


class Encryption(BodyPart):
    """Encryption between the network's machines. In the lab nobody encrypts (docs/lab-differences.md)."""

    enabled: bool
    enforcement: Literal["AllowUnencrypted"] = "AllowUnencrypted"
    """The only supported value (learn.microsoft.com/rest/api/virtualnetwork, ``VirtualNetworkEncryption``)."""


class VirtualNetworkProperties(BodyPart):
    """Properties of a network."""

    address_space: NetworkAddressSpace
    encryption: Encryption | None = None
    enable_ddos_protection: Literal[False] = False
    enable_vm_protection: Literal[False] = False
    private_endpoint_v_net_policies: Literal["Disabled"] = Field(
        default="Disabled", alias="privateEndpointVNetPolicies"
    )
    subnets: list[dict[str, Any]] | None = None
    """With a list, the network has exactly these subnets. Without one, its subnets stay as they are (see
    docs/lab-differences.md)."""
    virtual_network_peerings: list[dict[str, Any]] | None = Field(default=None, max_length=0)


class VirtualNetwork(Located):
    """A virtual network."""

    properties: VirtualNetworkProperties


def subnets_of(store: DocumentStore, network_id: str) -> list[ResourceDocument]:
    """Return the subnets of a network."""
    return [document for document in store.below(network_id) if document.type.lower() == SUBNET_TYPE.lower()]


def check(put: Put) -> None:
    """Refuse ranges that overlap each other, or that no longer hold every subnet."""
    ranges = [IPv4Network(prefix) for prefix in put.body["properties"]["addressSpace"]["addressPrefixes"]]
    for index, block in enumerate(ranges):
        for other in ranges[index + 1 :]:
            if block.overlaps(other):
                raise ArmError(
                    400, "AddressPrefixesOverlap", f"Address prefixes {block} and {other} of {put.id.name} overlap."
                )
    for subnet in subnets_of(put.store, put.id.text) if put.body["properties"].get("subnets") is None else ():
        prefix = IPv4Network(subnet.body["properties"]["addressPrefix"])
        if not any(prefix.subnet_of(range_) for range_ in ranges):
            raise ArmError(
                400,
                "InUsePrefixCannotBeDeleted",
                f"IpPrefix holding {prefix} on VirtualNetwork {put.id.name} has active subnet {subnet.name} using "
                "it, so "
                "cannot be deleted.",
            )


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a network while its subnets are in use, or while a private DNS zone is linked to it."""
    for child in subnets_of(store, document.id):
        used = users(store, child.id)
        if used:
            raise ArmError(
                400,
                "InUseSubnetCannotBeDeleted",
                f"Subnet {child.name} is in use by {used[0]} and cannot be deleted. In order to delete the subnet, "
                "delete "
                "all the resources within the subnet. See aka.ms/deletesubnet.",
            )
    for link in store.of_type("Microsoft.Network/privateDnsZones/virtualNetworkLinks"):
        if link.body["properties"]["virtualNetwork"]["id"].lower() == document.key:
            raise ArmError(
                409,
                "CannotDeleteResource",
                f"Virtual network {document.name} cannot be deleted: it is linked to a private DNS zone by {link.id}.",
            )


SPEC = TypeSpec(type=TYPE, model=VirtualNetwork, check=check, in_use=in_use)
