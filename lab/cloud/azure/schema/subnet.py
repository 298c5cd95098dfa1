"""Microsoft.Network/virtualNetworks/subnets."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any, Literal

from pydantic import Field

from clouds.azure.names import GATEWAY_SUBNET
from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema.base import Body, BodyPart, Put, Ref, TypeSpec
from lab.cloud.azure.schema.occupancy import RESERVED_AT_START, configurations, users
from lab.cloud.azure.schema.virtual_network import SUBNET_TYPE, subnets_of
from lab.cloud.azure.schema.virtual_network import TYPE as NETWORK_TYPE
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = SUBNET_TYPE


class SubnetRef(Ref):
    """Reference to a subnet. The SDK uses the type of a whole subnet, so a reference contains two of that type's
    defaults. Other values are refused, because a reference cannot change the subnet."""

    private_endpoint_network_policies: Literal["Disabled"] | None = None
    private_link_service_network_policies: Literal["Enabled"] | None = None


class ServiceEndpoint(BodyPart):
    """Service that the subnet reaches through a service endpoint."""

    service: Literal["Microsoft.KeyVault", "Microsoft.Storage"]
    locations: list[str] | None = None


class SubnetProperties(BodyPart):
    """Properties of a subnet."""

    address_prefix: IPv4Network
    network_security_group: Ref | None = None
    nat_gateway: Ref | None = None
    service_endpoints: list[ServiceEndpoint] = Field(default_factory=list)
    default_outbound_access: bool | None = None
    """The lab always behaves as with ``false``: without a NAT gateway a subnet does not reach the internet."""
    private_endpoint_network_policies: Literal["Disabled", "Enabled"] = "Disabled"
    private_link_service_network_policies: Literal["Disabled", "Enabled"] = "Enabled"
    delegations: list[dict[str, Any]] = Field(default_factory=list, max_length=0)


class Subnet(Body):
    """A subnet."""

    tags: None = None
    properties: SubnetProperties


def check(put: Put) -> None:
    """Refuse a range that is not in the network, is smaller than /29, overlaps another subnet, or changes while
    addresses are in use. Refuse references to missing resources."""
    network = put.store.get(put.id.parent or "")
    if network is None:
        raise ArmError(404, "ParentResourceNotFound", f"The parent {NETWORK_TYPE} '{put.id.parent}' was not found.")
    properties = put.body["properties"]
    prefix = IPv4Network(properties["addressPrefix"])
    ranges = [IPv4Network(text) for text in network.body["properties"]["addressSpace"]["addressPrefixes"]]
    if not any(prefix.subnet_of(range_) for range_ in ranges):
        raise ArmError(
            400,
            "NetcfgInvalidSubnet",
            f"Subnet '{put.id.name}' is not valid in virtual network '{network.name}': {prefix} is not in its "
            "address space.",
        )
    if prefix.prefixlen > 29:
        raise ArmError(400, "NetcfgInvalidSubnet", f"Subnet '{put.id.name}' is smaller than /29: {prefix}.")
    if put.id.name.lower() == GATEWAY_SUBNET.lower():
        _gateways_only(put)
    _no_overlap(put, network, prefix)
    _addresses_stay(put, prefix)
    for key, type in (
        ("networkSecurityGroup", "Microsoft.Network/networkSecurityGroups"),
        ("natGateway", "Microsoft.Network/natGateways"),
    ):
        if key in properties:
            put.find(properties[key]["id"], type=type)


def _gateways_only(put: Put) -> None:
    group = put.body["properties"].get("networkSecurityGroup")
    if group:
        raise ArmError(
            400,
            "NetworkSecurityGroupCannotBeAttachedToGatewaySubnet",
            f"The operation failed because the network security group {group['id'].rsplit('/', 1)[-1]} can not be "
            f"associated to the {GATEWAY_SUBNET}. Please remove the network security group associated to the "
            f"{GATEWAY_SUBNET}. No changes have occurred on the gateway at this time.",
        )
    if "natGateway" in put.body["properties"]:
        raise invalid(f"A NAT gateway cannot be associated with the {GATEWAY_SUBNET}.", target="natGateway")


def _no_overlap(put: Put, network: ResourceDocument, prefix: IPv4Network) -> None:
    for other in subnets_of(put.store, network.id):
        if other.key == put.id.text.lower():
            continue
        taken = IPv4Network(other.body["properties"]["addressPrefix"])
        if prefix.overlaps(taken):
            raise ArmError(
                400,
                "NetcfgSubnetRangesOverlap",
                f"Subnet '{put.id.name}' is not valid because its IP address range overlaps with that of an existing "
                "subnet "
                f"in virtual network '{network.name}': {prefix} and '{other.name}' {taken}.",
            )


def _addresses_stay(put: Put, prefix: IPv4Network) -> None:
    if put.old is None or IPv4Network(put.old.body["properties"]["addressPrefix"]) == prefix:
        return
    used = users(put.store, put.id.text)
    if used:
        raise ArmError(
            400,
            "InUsePrefixCannotBeDeleted",
            f"IpPrefix {put.old.body['properties']['addressPrefix']} on Subnet {put.id.name} has active allocations "
            "and "
            f"cannot be deleted: {used[0]}.",
        )


def check_address(put: Put, *, subnet_id: str, address: IPv4Address, configuration: str) -> None:
    """Refuse a private address that is outside the subnet, reserved, or taken by another configuration."""
    subnet = put.find(subnet_id, type=TYPE)
    if subnet.name.lower() == GATEWAY_SUBNET.lower():
        raise invalid(f"{configuration}: the {GATEWAY_SUBNET} is for gateways only.", target="subnet")
    prefix = IPv4Network(subnet.body["properties"]["addressPrefix"])
    if address not in prefix:
        raise ArmError(
            400,
            "PrivateIPAddressNotInSubnet",
            f"Private static IP address {address} does not belong to the range of subnet prefix {prefix}.",
        )
    reserved = int(address) - int(prefix.network_address) < RESERVED_AT_START or address == prefix.broadcast_address
    if reserved:
        raise ArmError(
            400,
            "PrivateIPAddressInReservedRange",
            f"Private static IP address {address} falls within reserved IP range of subnet prefix {prefix}.",
        )
    mine = f"{put.id.text}/".lower()
    for user, taken in configurations(put.store, subnet_id):
        if taken == address and not user.lower().startswith(mine):
            raise ArmError(
                400,
                "PrivateIPAddressInUse",
                f"IP configuration {configuration} is using the same private IP address {address} as IP "
                f"configuration {user}.",
            )


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the IP configurations in the subnet."""
    used_by = [{"id": user} for user in users(store, document.id)]
    return {"ipConfigurations": used_by} if used_by else {}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a subnet while a configuration is in it."""
    used = users(store, document.id)
    if used:
        raise ArmError(
            400,
            "InUseSubnetCannotBeDeleted",
            f"Subnet {document.name} is in use by {used[0]} and cannot be deleted. In order to delete the subnet, "
            "delete all "
            "the resources within the subnet. See aka.ms/deletesubnet.",
        )


SPEC = TypeSpec(
    type=TYPE,
    model=Subnet,
    check=check,
    view=view,
    in_use=in_use,
    parent=NETWORK_TYPE,
    read_only=frozenset(
        {"ipConfigurations", "purpose", "privateEndpoints", "serviceAssociationLinks", "resourceNavigationLinks"}
    ),
)
