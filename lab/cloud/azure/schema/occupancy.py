"""Resources that have an address in a subnet."""

from __future__ import annotations

from ipaddress import IPv4Address

from lab.cloud.store import Store


def configurations(store: Store, subnet_id: str) -> list[tuple[str, IPv4Address]]:
    """Return the id and address of every IP configuration in a subnet: interfaces and load balancer frontends."""
    found: list[tuple[str, IPv4Address]] = []
    for type, key in (
        ("Microsoft.Network/networkInterfaces", "ipConfigurations"),
        ("Microsoft.Network/loadBalancers", "frontendIPConfigurations"),
    ):
        for document in store.of_type(type):
            for item in document.body["properties"].get(key, ()):
                properties = item["properties"]
                if properties["subnet"]["id"].lower() == subnet_id.lower():
                    address = IPv4Address(properties["privateIPAddress"])
                    found.append((f"{document.id}/{key}/{item['name']}", address))
    return found


def users(store: Store, subnet_id: str) -> list[str]:
    """Return the ids of all configurations in a subnet, those of gateways included."""
    gateways = [
        f"{gateway.id}/ipConfigurations/{item['name']}"
        for gateway in store.of_type("Microsoft.Network/virtualNetworkGateways")
        for item in gateway.body["properties"]["ipConfigurations"]
        if item["properties"]["subnet"]["id"].lower() == subnet_id.lower()
    ]
    return [*(user for user, _ in configurations(store, subnet_id)), *gateways]
