"""Lookups of a site's existing resources on Azure, which are checked against the address plan before anything depends
on them.

Each function returns the name or id of a resource that the environment names. It is an output that becomes known when
the resource has passed its checks, so resources made from it wait for the checks, in a preview as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pulumi
from pulumi import InvokeOutputOptions, Output
from pulumi_azure_native import network, privatedns, resources

from clouds.azure.existing_networks import FoundGateway, gateway_faults, network_faults
from clouds.azure.existing_section import AzureVpn, group_of, name_of
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, ranges_of
from components.environment.existing import require, was_answered
from components.model import AddressPlan, Environment
from components.model.sites.places import place_of, site_ranges


def existing_group(name: str, *, site: str, parent: pulumi.Resource) -> Output[str]:
    """Return the name of an existing resource group."""
    resource_group = resources.get_resource_group_output(
        resource_group_name=name, opts=InvokeOutputOptions(parent=parent)
    )

    def check(group: Any) -> str:
        if was_answered(group):
            require(f"sites.{site}.existing.resource_group", name, _named(group, name))
        return name

    return resource_group.apply(check)


def existing_network(
    id_: str, environment: Environment, addresses: AddressPlan, *, site: str, parent: pulumi.Resource
) -> Output[str]:
    """Return the id of a virtual network that contains the site's block and its named subnets."""
    virtual_network = network.get_virtual_network_output(
        resource_group_name=group_of(id_), virtual_network_name=name_of(id_), opts=InvokeOutputOptions(parent=parent)
    )

    def check(answer: Any) -> str:
        if was_answered(answer):
            faults = network_faults(_network(answer), place_of(environment, site), site_ranges(addresses, site))
            require(f"sites.{site}.existing.network", id_, faults)
        return id_

    return virtual_network.apply(check)


def existing_zone(id_: str, *, site: str, parent: pulumi.Resource) -> Output[str]:
    """Return the name of an existing private DNS zone."""
    zone = privatedns.get_private_zone_output(
        resource_group_name=group_of(id_), private_zone_name=name_of(id_), opts=InvokeOutputOptions(parent=parent)
    )

    def check(answer: Any) -> str:
        if was_answered(answer):
            require(f"sites.{site}.existing.dns_zone", id_, _named(answer, name_of(id_)))
        return name_of(id_)

    return zone.apply(check)


def existing_gateway(vpn: AzureVpn, *, site: str, network_id: str, parent: pulumi.Resource) -> Output[str]:
    """Return the id of a gateway in the site's network that has the declared addresses."""
    opts = InvokeOutputOptions(parent=parent)
    gateway = network.get_virtual_network_gateway_output(
        resource_group_name=group_of(vpn.id), virtual_network_gateway_name=name_of(vpn.id), opts=opts
    )

    def judge(answer: Any, addresses: Sequence[str]) -> str:
        faults = gateway_faults(_gateway(answer, addresses), vpn, network=network_id)
        require(f"sites.{site}.existing.vpn_gateway", vpn.id, faults)
        return vpn.id

    def look(answer: Any) -> Output[str]:
        if not was_answered(answer):
            return Output.from_input(vpn.id)
        address_ids = [
            ip_configuration.public_ip_address.id
            for ip_configuration in answer.ip_configurations or ()
            if ip_configuration.public_ip_address
        ]
        asked = [
            network.get_public_ip_address_output(
                resource_group_name=group_of(address), public_ip_address_name=name_of(address), opts=opts
            ).ip_address
            for address in address_ids
        ]
        return Output.all(*asked).apply(lambda addresses: judge(answer, addresses))

    return gateway.apply(look)


def _gateway(gateway: Any, addresses: Sequence[str | None]) -> FoundGateway:
    return FoundGateway(
        gateway_type=gateway.gateway_type or "",
        vpn_type=gateway.vpn_type or "",
        size=(gateway.sku.name if gateway.sku else None) or "",
        addresses=tuple(address for address in addresses if address),
        subnets=tuple(
            ip_configuration.subnet.id
            for ip_configuration in gateway.ip_configurations or ()
            if ip_configuration.subnet
        ),
    )


def _named(resource: Any, name: str) -> Iterator[str]:
    if (resource.name or "").lower() != name.lower():
        yield f"Azure's answer names {resource.name!r} instead"


def _network(virtual_network: Any) -> FoundNetwork:
    prefixes = virtual_network.address_space.address_prefixes if virtual_network.address_space else None
    return FoundNetwork(
        region=virtual_network.location or "",
        ranges=ranges_of(prefixes or ()),
        subnets={subnet.name.lower(): _subnet(subnet) for subnet in virtual_network.subnets or () if subnet.name},
    )


def _subnet(subnet: Any) -> FoundSubnet:
    single = [subnet.address_prefix] if subnet.address_prefix else []
    delegations = [delegation.service_name for delegation in subnet.delegations or () if delegation.service_name]
    return FoundSubnet(
        ranges=ranges_of(subnet.address_prefixes or single),
        endpoints=tuple(
            service_endpoint.service for service_endpoint in subnet.service_endpoints or () if service_endpoint.service
        ),
        delegated=", ".join(delegations),
    )
