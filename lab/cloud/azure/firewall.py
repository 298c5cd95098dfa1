"""Finds the origin of a request, and checks it against a vault's firewall."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from lab.cloud.azure.schema import virtual_network
from lab.cloud.azure.world import egress
from lab.cloud.store import DocumentStore, ResourceDocument


@dataclass(frozen=True, kw_only=True)
class FirewallClient:
    """Client side of a connection."""

    address: IPv4Address
    network: str | None
    """Id of the virtual network that the listener is in; ``None`` on the internet."""


def subnet_of(store: DocumentStore, peer: FirewallClient) -> ResourceDocument | None:
    """Return the subnet of a peer inside a network."""
    if peer.network is None:
        return None
    for subnet in virtual_network.subnets_of(store, peer.network):
        if peer.address in IPv4Network(subnet.body["properties"]["addressPrefix"]):
            return subnet
    return None


def refusal(
    store: DocumentStore, vault: ResourceDocument, peer: FirewallClient, *, service: str = "Microsoft.KeyVault"
) -> str | None:
    """Return the reason, in Key Vault's words, why the firewall of a vault, or of a resource of another ``service``,
    refuses a peer; ``None`` when it admits the peer."""
    rules: dict[str, Any] = vault.body["properties"]["networkAcls"]
    if rules["defaultAction"] == "Allow":
        return None
    subnet = subnet_of(store, peer)
    addresses: tuple[IPv4Address, ...] = (peer.address,)
    if subnet is not None:
        services = {endpoint["service"] for endpoint in subnet.body["properties"]["serviceEndpoints"]}
        if service in services:
            allowed = {rule["id"].lower() for rule in rules["virtualNetworkRules"]}
            return None if subnet.key in allowed else _words(vault, f"{peer.address} (subnet {subnet.id})")
        addresses = egress(store, subnet)
    ranges = [IPv4Network(str(rule["value"])) for rule in rules["ipRules"]]
    # A connection leaves from any of a NAT gateway's addresses, so each has to be admitted.
    refused = [address for address in addresses if not any(address in range_ for range_ in ranges)]
    if addresses and not refused:
        return None
    return _words(vault, str(next(iter(refused), peer.address)))


def _words(vault: ResourceDocument, address: str) -> str:
    return (
        "Client address is not authorized and caller is not a trusted service.\r\n"
        f"Client address: {address}\r\nCaller: (see token)\r\nVault: {vault.name};location={vault.body['location']}"
    )
