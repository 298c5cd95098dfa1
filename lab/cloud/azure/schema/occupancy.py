"""Resources that have an address in a subnet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from lab.cloud.store import DocumentStore, ResourceDocument

RESERVED_AT_START = 4
"""Number of addresses reserved at a subnet's start: network address, gateway and two for DNS
(learn.microsoft.com/azure/virtual-network/virtual-networks-faq)."""

MOST_ADDRESSES = 65_536
"""Largest number of private addresses in a virtual network
(learn.microsoft.com/azure/azure-resource-manager/management/azure-subscription-service-limits, virtual networks). The
code of the error is not published."""


def configurations(store: DocumentStore, subnet_id: str) -> list[tuple[str, IPv4Address]]:
    """Return the id and address of every IP configuration in a subnet: those of interfaces, scale sets' interfaces and
    load balancer frontends."""
    occupied: list[tuple[str, IPv4Address]] = []
    for type, key in (
        ("Microsoft.Network/networkInterfaces", "ipConfigurations"),
        ("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces", "ipConfigurations"),
        ("Microsoft.Network/loadBalancers", "frontendIPConfigurations"),
    ):
        for document in store.of_type(type):
            for item in document.body["properties"].get(key, ()):
                properties = item["properties"]
                if properties["subnet"]["id"].lower() == subnet_id.lower():
                    address = IPv4Address(properties["privateIPAddress"])
                    occupied.append((f"{document.id}/{key}/{item['name']}", address))
    return occupied


def free(store: DocumentStore, subnet: ResourceDocument, most: int) -> list[IPv4Address]:
    """Return at most ``most`` free addresses of a subnet, lowest first, without reserved addresses."""
    prefix = IPv4Network(subnet.body["properties"]["addressPrefix"])
    taken = {address for _, address in configurations(store, subnet.id)}
    usable = (prefix[number] for number in range(RESERVED_AT_START, prefix.num_addresses - 1))
    return list(islice((address for address in usable if address not in taken), most))


def users(store: DocumentStore, subnet_id: str) -> list[str]:
    """Return the ids of all IP configurations in a subnet, including those of VPN gateways."""
    gateways = [
        f"{gateway.id}/ipConfigurations/{item['name']}"
        for gateway in store.of_type("Microsoft.Network/virtualNetworkGateways")
        for item in gateway.body["properties"]["ipConfigurations"]
        if item["properties"]["subnet"]["id"].lower() == subnet_id.lower()
    ]
    return [*(user for user, _ in configurations(store, subnet_id)), *gateways]
