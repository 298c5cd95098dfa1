"""Asks Azure for the existing resources that the environment names for a site, and checks them. Every preview looks
them up as well (components/azure/existing_lookups.py); both use the verdicts of
:mod:`clouds.azure.existing_networks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clouds.azure.existing_networks import FoundGateway, gateway_faults, network_faults
from clouds.azure.existing_section import AzureVpn, name_of
from clouds.azure.reader import AzureReader
from clouds.azure.site import AzureSite
from clouds.azure.versions import NETWORK_VERSION, RESOURCES_VERSION, ZONES_VERSION
from clouds.base.doctor import CloudShare, fitted
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, ranges_of
from clouds.base.findings import Finding


def named_parts(share: CloudShare[AzureSite], reader: AzureReader, name: str) -> Iterator[Finding]:
    """Check a site's resource group, its network and the network's subnets, its DNS zone, and its VPN gateway:
    learn.microsoft.com, "Resource Groups - Get", "Virtual Networks - Get", "Private Zones - Get", "Virtual Network
    Gateways - Get"."""
    site = share.places[name].site
    there, key = site.existing, f"sites.{name}.existing"
    if there.resource_group is not None:
        path = f"/subscriptions/{site.subscription}/resourcegroups/{there.resource_group}"
        group = reader.find(path, version=RESOURCES_VERSION)
        yield from fitted(share, f"{key}.resource_group", "resource group", there.resource_group, group, ())
    if there.network is not None:
        network = reader.find(there.network, version=NETWORK_VERSION)
        faults = network_faults(_network(network), share.places[name], share.ranges[name]) if network else ()
        yield from fitted(share, f"{key}.network", "network", name_of(there.network), network, faults)
    if there.dns_zone is not None:
        zone = reader.find(there.dns_zone, version=ZONES_VERSION)
        yield from fitted(share, f"{key}.dns_zone", "DNS zone", name_of(there.dns_zone), zone, ())
    if there.vpn_gateway is not None:
        yield from _gateway(share, reader, there.vpn_gateway, f"{key}.vpn_gateway", network=there.network or "")


def _gateway(
    share: CloudShare[AzureSite], reader: AzureReader, vpn: AzureVpn, key: str, *, network: str
) -> Iterator[Finding]:
    """Check a VPN gateway and its public addresses ("Public IP Addresses - Get")."""
    document = reader.find(vpn.id, version=NETWORK_VERSION)
    faults: Iterable[str] = ()
    if document is not None:
        properties = document["properties"]
        instances = [ip_configuration["properties"] for ip_configuration in properties.get("ipConfigurations") or []]
        ids = [instance["publicIPAddress"]["id"] for instance in instances if instance.get("publicIPAddress")]
        addresses = [reader.get(id_, version=NETWORK_VERSION)["properties"].get("ipAddress") for id_ in ids]
        actual = FoundGateway(
            gateway_type=str(properties.get("gatewayType")),
            vpn_type=str(properties.get("vpnType")),
            size=str((properties.get("sku") or {}).get("name")),
            addresses=tuple(address for address in addresses if address),
            subnets=tuple(instance["subnet"]["id"] for instance in instances if instance.get("subnet")),
        )
        faults = gateway_faults(actual, vpn, network=network)
    yield from fitted(share, key, "VPN gateway", name_of(vpn.id), document, faults)


def _network(document: dict[str, Any]) -> FoundNetwork:
    properties = document["properties"]
    return FoundNetwork(
        region=str(document["location"]),
        ranges=ranges_of((properties.get("addressSpace") or {}).get("addressPrefixes") or ()),
        subnets={subnet["name"].lower(): _subnet(subnet["properties"]) for subnet in properties.get("subnets") or ()},
    )


def _subnet(properties: dict[str, Any]) -> FoundSubnet:
    single = [properties["addressPrefix"]] if properties.get("addressPrefix") else []
    delegated = [delegation["properties"]["serviceName"] for delegation in properties.get("delegations") or ()]
    return FoundSubnet(
        ranges=ranges_of(properties.get("addressPrefixes") or single),
        endpoints=tuple(service_endpoint["service"] for service_endpoint in properties.get("serviceEndpoints") or ()),
        delegated=", ".join(delegated),
    )
