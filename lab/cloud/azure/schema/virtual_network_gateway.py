"""Microsoft.Network/virtualNetworkGateways: route-based VPN gateways.

Codes and wording of refusals are as reported from the real service (github.com/Azure/ResourceModules issues 2609,
Azure/Azure-Landing-Zones issues 2660 and 2674, hashicorp/terraform-provider-azurerm issue 940).
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Literal, get_args

from pydantic import Field

from clouds.azure.names import GATEWAY_SUBNET
from clouds.azure.zones import WITHOUT_ZONES
from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema import public_ip_address
from lab.cloud.azure.schema.base import BodyPart, Located, Put, Ref, TypeSpec, normal_location
from lab.cloud.azure.schema.local_network_gateway import CONNECTION_TYPE
from lab.cloud.azure.schema.subnet import TYPE as SUBNET_TYPE
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/virtualNetworkGateways"

SkuName = Literal[
    "VpnGw1", "VpnGw2", "VpnGw3", "VpnGw4", "VpnGw5",
    "VpnGw1AZ", "VpnGw2AZ", "VpnGw3AZ", "VpnGw4AZ", "VpnGw5AZ",
]  # fmt: skip
"""Names of SKUs: learn.microsoft.com/azure/vpn-gateway/about-gateway-skus, without the policy-based Basic."""

TUNNELS = {name: 100 if name.startswith(("VpnGw4", "VpnGw5")) else 30 for name in get_args(SkuName)}
"""Largest number of site-to-site tunnels of each SKU (the same page, "Gateway SKUs by tunnel, connection, and
throughput")."""

GENERATIONS = {
    name: ("Generation1",) if "Gw1" in name else ("Generation2",) if "Gw4" in name or "Gw5" in name
    else ("Generation1", "Generation2")
    for name in get_args(SkuName)
}  # fmt: skip
"""Generations that have each SKU (the same table)."""

SMALLEST = 27
"""Prefix length of the smallest gateway subnet of these SKUs (learn.microsoft.com, "About VPN Gateway configuration
settings", "Gateway subnet")."""


class NetworkGatewaySku(BodyPart):
    """SKU of a gateway; in the lab SKUs differ only in the number of their tunnels and in their generations."""

    name: SkuName
    tier: SkuName


class GatewayIpProperties(BodyPart):
    """Addresses of one instance."""

    private_ip_allocation_method: Literal["Dynamic"] = Field(default="Dynamic", alias="privateIPAllocationMethod")
    public_ip_address: Ref = Field(alias="publicIPAddress")
    subnet: Ref


class GatewayIpConfiguration(BodyPart):
    """A named IP configuration."""

    name: str
    id: str | None = None
    properties: GatewayIpProperties


class NetworkGatewayProperties(BodyPart):
    """Properties of a gateway."""

    gateway_type: Literal["Vpn"]
    vpn_type: Literal["RouteBased"]
    vpn_gateway_generation: Literal["None", "Generation1", "Generation2"] = "None"
    sku: NetworkGatewaySku
    active_active: bool = Field(default=False, alias="activeActive")
    enable_bgp: Literal[False] = False
    """The lab's gateways route the ranges that their connections name."""
    enable_private_ip_address: Literal[False] = False
    ip_configurations: list[GatewayIpConfiguration] = Field(min_length=1)


class VirtualNetworkGateway(Located):
    """A virtual network gateway."""

    properties: NetworkGatewayProperties


def check(put: Put) -> None:
    """Refuse a gateway that is not alone in its network's gateway subnet, or that does not have one IP configuration
    for each instance."""
    properties = put.body["properties"]
    wanted = 2 if properties["activeActive"] else 1
    configurations = properties["ipConfigurations"]
    if len(configurations) != wanted and wanted == 1:
        raise invalid(f"{put.id.name}: a gateway that is not activeActive has exactly one IP configuration.")
    if len(configurations) != wanted:
        raise ArmError(
            400,
            "ActiveActiveGatewayMustHaveExactlyTwoIpConfigurations",
            f"Gateway has {len(configurations)} IP configurations specified for gateway {put.id.text}. ActiveActive "
            "Gateway must be created with two IP configurations.",
        )
    if properties["sku"]["name"] != properties["sku"]["tier"]:
        raise invalid(f"{put.id.name}: sku.name and sku.tier must be the same.", target="sku")
    _generation(put)
    _resize(put)
    subnets = {_subnet(put, configuration["properties"]["subnet"]["id"]).key for configuration in configurations}
    if len(subnets) != 1:
        raise invalid(f"{put.id.name}: all its IP configurations must be in one subnet.", target="ipConfigurations")
    _alone(put, subnets.pop())
    _addresses(put, [configuration["properties"]["publicIPAddress"]["id"] for configuration in configurations])


def _generation(put: Put) -> None:
    """Refuse a SKU that the generation lacks (code and wording: Azure/Azure-Landing-Zones issue 3265). Without a
    generation, Azure takes the first (the same project, issue 3781)."""
    sku, generation = _size(put.body)
    if generation not in GENERATIONS[sku]:
        raise ArmError(
            400,
            "VirtualNetworkGatewaySkuCannotBeCreatedForSpecifiedVmGeneration",
            f"The Virtual Network Gateway Sku {sku} cannot be used when VirtualNetworkVpnGatewayGeneration is set to "
            f"{generation}.",
        )


def _resize(put: Put) -> None:
    """Refuse another generation (code and wording: hashicorp/terraform-provider-azurerm issue 5535), and a smaller SKU
    (azure-docs ``gateway-sku-upgrade.md``, "Limitations and restrictions"; Azure's code and wording are not
    published)."""
    if put.old is None:
        return
    (before, generation), (after, wanted) = _size(put.old.body), _size(put.body)
    if generation != wanted:
        raise ArmError(
            400,
            "CrossSeriesOrCrossGatewayGenenrationResizeNotSupported",
            "Resize from ASeries to DSeries or vice versa and Resize across VirtualNetworkVpnGatewayGenerations are "
            "not supported.",
        )
    if after.removesuffix("AZ") < before.removesuffix("AZ"):
        raise invalid(f"{put.id.name}: a gateway of SKU {before} cannot become {after}; delete it first.", target="sku")


def _size(body: dict[str, Any]) -> tuple[str, str]:
    """Return the SKU and the generation of a gateway."""
    properties, first = body["properties"], "Generation1"
    generation = properties["vpnGatewayGeneration"]
    return properties["sku"]["name"], first if generation == "None" else generation


def _subnet(put: Put, subnet_id: str) -> ResourceDocument:
    subnet = put.find(subnet_id, type=SUBNET_TYPE)
    if subnet.name.lower() != GATEWAY_SUBNET.lower():
        raise invalid(f"{put.id.name}: a gateway stands in the subnet {GATEWAY_SUBNET}, not in {subnet.name}.")
    prefix = IPv4Network(subnet.body["properties"]["addressPrefix"])
    if prefix.prefixlen > SMALLEST:
        raise invalid(f"{put.id.name}: the subnet {prefix} is too small for a gateway; /{SMALLEST} is the smallest.")
    network = put.store.get(subnet.id.rsplit("/", 2)[0])
    if network:
        put.same_region(network)
    return subnet


def _alone(put: Put, subnet_key: str) -> None:
    for other in gateways_in(put.store, subnet_key):
        if other.key != put.id.text.lower():
            raise invalid(f"{put.id.name}: the network has a VPN gateway already, {other.id}; it can have one.")


def _addresses(put: Put, ids: list[str]) -> None:
    """Refuse addresses that are shared or in use, or whose zones do not fit: with an AZ SKU all addresses have the same
    zones, which are none in a region without zones (azure-docs ``gateway-sku-consolidation.md``, "FAQ"); with other
    SKUs no address has zones."""
    documents = [put.find(address_id, type=public_ip_address.TYPE) for address_id in ids]
    if len({address.key for address in documents}) != len(documents):
        raise invalid(f"{put.id.name}: its IP configurations share a public address.", target="ipConfigurations")
    zonal = put.body["properties"]["sku"]["name"].endswith("AZ")
    for address in documents:
        put.same_region(address)
        public_ip_address.check_free(put, address)
        if zonal and not address.body.get("zones") and normal_location(put.body["location"]) not in WITHOUT_ZONES:
            raise ArmError(
                400,
                "VmssVpnGatewayPublicIpsMustHaveZonesConfigured",
                "Standard Public IPs associated with VPN Gateways with AZ VPN skus must have zones configured.",
            )
        if not zonal and address.body.get("zones"):
            raise ArmError(
                400,
                "RegionalVmssVpnGatewayPublicIpsMustNotHaveZonesConfigured",
                "Standard Public IPs associated with VPN gateways with non-AZ VPN skus cannot have zones configured.",
            )
    if len({tuple(sorted(address.body.get("zones") or ())) for address in documents}) > 1:
        raise ArmError(
            400,
            "ActiveActiveGatewayPublicIPAddressesDiffersInSkuOrZones",
            f"Virtual network gateway {put.id.text} in active active mode is using PublicIPAddresses either with "
            "different Skus or with different PublicIPAllocationMethod or from a different availability zones.",
        )


def gateways_in(store: DocumentStore, subnet_id: str) -> list[ResourceDocument]:
    """Return the gateways in a subnet."""
    return [
        gateway
        for gateway in store.of_type(TYPE)
        if any(
            ip_configuration["properties"]["subnet"]["id"].lower() == subnet_id.lower()
            for ip_configuration in gateway.body["properties"]["ipConfigurations"]
        )
    ]


def network_key(gateway: ResourceDocument) -> str:
    """Return the key of a gateway's network, as in the hypervisor's world."""
    subnet: str = gateway.body["properties"]["ipConfigurations"][0]["properties"]["subnet"]["id"]
    return subnet.rsplit("/", 2)[0].lower()


def connections_of(store: DocumentStore, gateway_id: str) -> list[ResourceDocument]:
    """Return the gateway's connections."""
    return [
        connection
        for connection in store.of_type(CONNECTION_TYPE)
        if connection.body["properties"]["virtualNetworkGateway1"]["id"].lower() == gateway_id.lower()
    ]


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the ids of the IP configurations."""
    configurations = [
        {
            **item,
            "id": f"{document.id}/ipConfigurations/{item['name']}",
            "etag": document.etag,
            "properties": {**item["properties"], "provisioningState": "Succeeded"},
        }
        for item in document.body["properties"]["ipConfigurations"]
    ]
    return {"ipConfigurations": configurations}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a gateway while it has connections."""
    connections = connections_of(store, document.id)
    if connections:
        raise ArmError(
            400,
            "VirtualNetworkGatewayCannotBeDeleted",
            f"Virtual network gateway {document.id} cannot be deleted: it is used by the connections "
            f"{', '.join(connection.id for connection in connections)}. Delete them first.",
        )


SPEC = TypeSpec(type=TYPE, model=VirtualNetworkGateway, check=check, view=view, in_use=in_use)
