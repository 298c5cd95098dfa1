"""Translates Azure's gateways, connections and peerings into the state that the hypervisor should make.

Nothing here has side effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from lab.cloud.azure.ipsec import IKE_LIFETIME_S, esp_proposal, ike_proposal
from lab.cloud.azure.schema import (
    gateway_connection,
    local_network_gateway,
    public_ip_address,
    virtual_network_gateway,
    virtual_network_peering,
)
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import DesiredGateway, DesiredTunnel, Peering, Route


def gateways(store: DocumentStore) -> tuple[DesiredGateway, ...]:
    """Return every VPN gateway that is not being deleted."""
    return tuple(_gateway(store, document) for document in _living(store, virtual_network_gateway.TYPE))


def peerings(store: DocumentStore) -> tuple[Peering, ...]:
    """Return every peering that has both halves."""
    return tuple(
        Peering(
            id=half.key,
            first=virtual_network_peering.network_of(half).lower(),
            second=virtual_network_peering.remote_of(half).lower(),
        )
        for half in _connected(store)
        if virtual_network_peering.network_of(half).lower() < virtual_network_peering.remote_of(half).lower()
    )


def routes(store: DocumentStore, network_key: str) -> tuple[Route, ...]:
    """Return the routes that all subnets of a network get from its gateway and its peers
    (learn.microsoft.com/azure/virtual-network, "Virtual network traffic routing"). The lab cannot switch this
    propagation off."""
    beyond = [
        Route(destination=destination, via=gateway.key)
        for gateway in _living(store, virtual_network_gateway.TYPE)
        if virtual_network_gateway.network_key(gateway) == network_key
        for connection in _with_key(store, gateway)
        for destination in _remote_ranges(store, connection)
    ]
    ids = {frozenset((peering.first, peering.second)): peering.id for peering in peerings(store)}
    for half in _connected(store):
        if virtual_network_peering.network_of(half).lower() == network_key:
            remote = store.get(virtual_network_peering.remote_of(half))
            via = ids.get(frozenset((network_key, remote.key))) if remote else None
            if remote and via:
                beyond += [Route(destination=range_, via=via) for range_ in virtual_network_peering.ranges(remote)]
    return tuple(dict.fromkeys(beyond))


def tunnel_name(connection: ResourceDocument, instance: int) -> str:
    """Return the name of the tunnel that an instance of a connection's gateway has."""
    return f"{connection.name}-{instance}"


def tunnel_names(store: DocumentStore, connection: ResourceDocument) -> tuple[str, ...]:
    """Return the names of a connection's tunnels, one for each of the gateway's instances."""
    gateway = store.get(connection.body["properties"]["virtualNetworkGateway1"]["id"])
    instances = range(len(gateway.body["properties"]["ipConfigurations"])) if gateway else ()
    return tuple(tunnel_name(connection, instance) for instance in instances)


def _gateway(store: DocumentStore, document: ResourceDocument) -> DesiredGateway:
    public_addresses = public_ip_address.addresses_of(store, document)
    addresses = tuple(IPv4Address(address.hidden["address"]) for address in public_addresses)
    connections = _with_key(store, document)
    carrying = _carrying(store, connections)
    return DesiredGateway(
        id=document.key,
        name=document.name,
        network=virtual_network_gateway.network_key(document),
        addresses=addresses,
        tunnels=tuple(
            replace(
                _tunnel(store, connection, remote, instance=instance, local=address),
                carries=connection.key in carrying,
            )
            for connection in connections
            for remote in (store.get(connection.body["properties"]["localNetworkGateway2"]["id"]),)
            if remote
            for instance, address in enumerate(addresses)
        ),
        spreads=document.body["properties"]["activeActive"],
    )


def _carrying(store: DocumentStore, connections: list[ResourceDocument]) -> set[str]:
    """Return the keys of the connections that carry traffic. Azure requires BGP for several connections to one range,
    and documents nothing about static ones (learn.microsoft.com/azure/vpn-gateway/vpn-gateway-highlyavailable,
    "Multiple on-premises VPN devices"). Here the oldest connection carries the traffic, whether it is up or down, and
    the others never do."""
    taken: list[IPv4Network] = []
    carrying: set[str] = set()
    for connection in sorted(connections, key=gateway_connection.age):
        ranges = list(_remote_ranges(store, connection))
        if not any(range_.overlaps(other) for range_ in ranges for other in taken):
            carrying.add(connection.key)
        taken += ranges
    return carrying


def _tunnel(
    store: DocumentStore, connection: ResourceDocument, remote: ResourceDocument, *, instance: int, local: IPv4Address
) -> DesiredTunnel:
    properties = connection.body["properties"]
    policy = properties["ipsecPolicies"][0]
    local_ranges, remote_ranges = _selectors(store, connection)
    return DesiredTunnel(
        name=tunnel_name(connection, instance),
        local=local,
        remote=IPv4Address(remote.body["properties"]["gatewayIpAddress"]),
        key=connection.hidden["sharedKey"],
        local_ranges=local_ranges,
        remote_ranges=remote_ranges,
        ike_proposal=ike_proposal(policy),
        esp_proposal=esp_proposal(policy),
        ike_lifetime_s=IKE_LIFETIME_S,
        esp_lifetime_s=policy["saLifeTimeSeconds"],
        dpd_s=properties["dpdTimeoutSeconds"],
        initiate=properties["connectionMode"] != "ResponderOnly",
    )


def _selectors(
    store: DocumentStore, connection: ResourceDocument
) -> tuple[tuple[IPv4Network, ...], tuple[IPv4Network, ...]]:
    """Return local and remote ranges: the connection's traffic selectors if it has any, else all ranges of the network
    and of the remote gateway."""
    for selectors in connection.body["properties"]["trafficSelectorPolicies"]:
        return (_networks(selectors["localAddressRanges"]), _networks(selectors["remoteAddressRanges"]))
    gateway = store.get(connection.body["properties"]["virtualNetworkGateway1"]["id"])
    network = store.get(virtual_network_gateway.network_key(gateway)) if gateway else None
    prefixes = network.body["properties"]["addressSpace"]["addressPrefixes"] if network else []
    return (_networks(prefixes), tuple(_remote_ranges(store, connection)))


def _remote_ranges(store: DocumentStore, connection: ResourceDocument) -> Iterator[IPv4Network]:
    remote = store.get(connection.body["properties"]["localNetworkGateway2"]["id"])
    if remote and remote.type == local_network_gateway.TYPE:
        yield from _networks(remote.body["properties"]["localNetworkAddressSpace"]["addressPrefixes"])


def _networks(texts: list[str]) -> tuple[IPv4Network, ...]:
    return tuple(IPv4Network(text) for text in texts)


def _living(store: DocumentStore, type: str) -> list[ResourceDocument]:
    return [document for document in store.of_type(type) if document.hidden.get("state") != "Deleting"]


def _with_key(store: DocumentStore, gateway: ResourceDocument) -> list[ResourceDocument]:
    """Return the gateway's connections that have a key; a connection without a key cannot come up yet."""
    wanted = gateway.key
    return [
        connection
        for connection in _living(store, gateway_connection.TYPE)
        if connection.body["properties"]["virtualNetworkGateway1"]["id"].lower() == wanted
        and "sharedKey" in connection.hidden
    ]


def _connected(store: DocumentStore) -> list[ResourceDocument]:
    return [
        half
        for half in store.of_type(virtual_network_peering.TYPE)
        if virtual_network_peering.state(store, half) == "Connected"
    ]
