"""Translates Azure's documents into the state that the hypervisor should make. Nothing here has side effects."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any, Literal

from lab.cloud.azure.rules import merged
from lab.cloud.azure.schema import (
    data_disk,
    load_balancer,
    network_interface,
    private_dns_link,
    private_dns_record,
    scale_set_instance,
    virtual_machine,
    virtual_network,
)
from lab.cloud.azure.schema.network_interface import network_of
from lab.cloud.azure.sizes import known_sizes
from lab.cloud.azure.tunnels import gateways, peerings, routes
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import DesiredBalancer, DesiredMachine, DesiredProbe, DesiredRule, DesiredSubnet, Network, Route, World


def build_world(store: DocumentStore, *, images: Mapping[str, str]) -> World:
    """Return the desired world of Azure.

    ``images`` maps image ids to the hypervisor's names for them.
    """
    networks = {document.key: _network(store, document) for document in store.of_type(virtual_network.TYPE)}
    machines = [_machine(store, document, networks, images) for document in computers(store)]
    return World(
        networks=tuple(networks.values()),
        machines=tuple(machine for machine in machines if machine),
        load_balancers=tuple(
            rule for document in store.of_type(load_balancer.TYPE) for rule in _load_balancers(store, document)
        ),
        gateways=gateways(store),
        peerings=peerings(store),
        network_disks=frozenset(disk.hidden["uniqueId"] for disk in store.of_type(data_disk.TYPE)),
    )


def _network(store: DocumentStore, document: ResourceDocument) -> Network:
    ranges = document.body["properties"]["addressSpace"]["addressPrefixes"]
    ways = routes(store, document.key)
    return Network(
        id=document.key,
        name=document.name,
        ranges=tuple(IPv4Network(text) for text in ranges),
        subnets=tuple(_subnet(store, child, ways) for child in virtual_network.subnets_of(store, document.id)),
        names=_names(store, document),
        public=_translated(store, document),
    )


def _subnet(store: DocumentStore, document: ResourceDocument, routes: tuple[Route, ...]) -> DesiredSubnet:
    properties = document.body["properties"]
    return DesiredSubnet(
        name=document.name,
        range=IPv4Network(properties["addressPrefix"]),
        egress=egress(store, document),
        routes=routes,
        service_endpoint=bool(properties["serviceEndpoints"]),
    )


def egress(store: DocumentStore, subnet: ResourceDocument) -> tuple[IPv4Address, ...]:
    """Return the public addresses of a subnet's NAT gateway; none without a gateway."""
    gateway = store.get(subnet.body["properties"].get("natGateway", {}).get("id", ""))
    refs = gateway.body["properties"]["publicIpAddresses"] if gateway else ()
    addresses = [store.get(ref["id"]) for ref in refs]
    return tuple(IPv4Address(address.hidden["address"]) for address in addresses if address)


def public_address(store: DocumentStore, configuration: Mapping[str, Any]) -> IPv4Address | None:
    """Return the public address that an IP configuration's properties name; None when they name none."""
    address = store.get(configuration.get("publicIPAddress", {}).get("id", ""))
    return IPv4Address(address.hidden["address"]) if address else None


def _translated(store: DocumentStore, network: ResourceDocument) -> dict[IPv4Address, IPv4Address]:
    """Return the private address of each public one in a network."""
    translated: dict[IPv4Address, IPv4Address] = {}
    for interface in store.of_type(network_interface.TYPE):
        for item in interface.body["properties"]["ipConfigurations"]:
            configuration = item["properties"]
            public = public_address(store, configuration)
            if public and network_of(configuration["subnet"]["id"]).lower() == network.key:
                translated[public] = IPv4Address(configuration["privateIPAddress"])
    return translated


def _names(store: DocumentStore, network: ResourceDocument) -> dict[str, IPv4Address]:
    names: dict[str, IPv4Address] = {}
    for link in store.of_type(private_dns_link.TYPE):
        if link.body["properties"]["virtualNetwork"]["id"].lower() != network.key:
            continue
        zone = link.id.rsplit("/", 2)[0]
        for record in store.below(zone):
            if record.type == private_dns_record.TYPE:
                address = record.body["properties"]["aRecords"][0]["ipv4Address"]
                names[private_dns_record.fqdn(record)] = IPv4Address(address)
    return names


def computers(store: DocumentStore) -> list[ResourceDocument]:
    """Return all virtual machines, those of scale sets included."""
    return [*store.of_type(virtual_machine.TYPE), *store.of_type(scale_set_instance.INSTANCE)]


def interface_of(store: DocumentStore, machine: ResourceDocument) -> tuple[ResourceDocument, dict[str, Any]] | None:
    """Return a machine's interface and its first IP configuration; None when the interface does not exist."""
    ref = machine.body["properties"]["networkProfile"]["networkInterfaces"][0]
    interface = store.get(ref["id"])
    if interface is None:
        return None
    return interface, interface.body["properties"]["ipConfigurations"][0]["properties"]


def _machine(
    store: DocumentStore, document: ResourceDocument, networks: dict[str, Network], images: Mapping[str, str]
) -> DesiredMachine | None:
    nic = interface_of(store, document)
    leaves = document.hidden.get("deleting") and not document.hidden.get("awaits")
    if nic is None or leaves or document.hidden.get("unallocated"):
        return None
    interface, configuration = nic
    properties = document.body["properties"]
    network = networks[network_of(configuration["subnet"]["id"]).lower()]
    subnet = store.get(configuration["subnet"]["id"])
    prefix = IPv4Network(subnet.body["properties"]["addressPrefix"]).prefixlen if subnet else 32
    # A scale set's machine may have a newer model than the one from which its disk was made.
    image = (document.hidden.get("image") or properties["storageProfile"]["imageReference"]["id"]).lower()
    others = interface.body["properties"]["ipConfigurations"][1:]
    return DesiredMachine(
        id=document.key,
        name=properties["osProfile"]["computerName"],
        generation=document.hidden.get("generation", document.hidden["vmId"]),
        network=network.id,
        address=IPv4Interface(f"{configuration['privateIPAddress']}/{prefix}"),
        routed=tuple(IPv4Network(other["properties"]["privateIPAddress"]) for other in others),
        rules=_rules(store, subnet, interface, network, public=public_address(store, configuration) is not None),
        image={key.lower(): version for key, version in images.items()}[image],
        user_data=base64.b64decode(document.hidden.get("customData", "")),
        running=document.hidden["power"] == "running",
        deallocated=document.hidden["power"] == "deallocated",
        local_ssd_gib=known_sizes()[properties["hardwareProfile"]["vmSize"]].local_ssd_gib,
        network_disk=next(
            (disk.hidden["uniqueId"] for disk in map(store.get, data_disk.attached(document)) if disk), ""
        ),
    )


def _rules(
    store: DocumentStore,
    subnet: ResourceDocument | None,
    interface: ResourceDocument,
    network: Network,
    *,
    public: bool,
) -> tuple[DesiredRule, ...]:
    groups = []
    for holder in (subnet, interface):
        ref = holder.body["properties"].get("networkSecurityGroup") if holder else None
        group = store.get(ref["id"]) if ref else None
        if group:
            groups.append(group.body["properties"]["securityRules"])
    return merged(groups, virtual_network=_reach(network), public=public)


def _reach(network: Network) -> tuple[IPv4Network, ...]:
    """Return the ranges of the ``VirtualNetwork`` tag: those of the network and its peers, and those behind its gateway
    (learn.microsoft.com/azure/virtual-network/service-tags-overview)."""
    beyond = {route.destination for subnet in network.subnets for route in subnet.routes}
    return (*network.ranges, *sorted(beyond))


def _load_balancers(store: DocumentStore, document: ResourceDocument) -> list[DesiredBalancer]:
    properties = document.body["properties"]
    frontends = {
        _part(document, "frontendIPConfigurations", item): item for item in properties["frontendIPConfigurations"]
    }
    probes = {_part(document, "probes", item): item["properties"] for item in properties["probes"]}
    balancers = []
    for rule in properties["loadBalancingRules"]:
        inner = rule["properties"]
        frontend = frontends[inner["frontendIPConfiguration"]["id"].lower()]["properties"]
        pools = [
            *inner["backendAddressPools"],
            *([inner["backendAddressPool"]] if "backendAddressPool" in inner else []),
        ]
        addresses = {
            IPv4Address(configuration["properties"]["privateIPAddress"])
            for pool in pools
            for _, configuration in load_balancer.members(store, pool["id"])
        }
        balancers.append(
            DesiredBalancer(
                id=f"{document.key}/loadbalancingrules/{rule['name'].lower()}",
                network=network_of(frontend["subnet"]["id"]).lower(),
                frontend=IPv4Address(frontend["privateIPAddress"]),
                port=inner["frontendPort"],
                backend_port=inner.get("backendPort", inner["frontendPort"]),
                backends=tuple(sorted(addresses)),
                probe=_probe(probes[inner["probe"]["id"].lower()]),
            )
        )
    return balancers


def _part(document: ResourceDocument, part: str, item: dict[str, Any]) -> str:
    return f"{document.key}/{part}/{item['name']}".lower()


def _probe(properties: dict[str, Any]) -> DesiredProbe:
    protocols: dict[str, Literal["tcp", "http", "https"]] = {"Tcp": "tcp", "Http": "http", "Https": "https"}
    return DesiredProbe(
        protocol=protocols[properties["protocol"]],
        port=properties["port"],
        path=properties.get("requestPath", "/"),
        interval_s=float(properties["intervalInSeconds"]),
        threshold=max(properties["probeThreshold"], properties["numberOfProbes"]),
    )
