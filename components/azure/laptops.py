"""Public addresses at which laptops reach the machines of their VPN."""

from __future__ import annotations

from pulumi import Input, ResourceOptions
from pulumi_azure_native import network

from clouds.azure.zones import address_zones
from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.model import Environment, Machine
from components.model.sites.cloud_names import cloud_name
from contract.tag_keys import MACHINE


def public_address(
    environment: Environment, machine: Machine, *, group: Input[str], opts: ResourceOptions
) -> network.PublicIPAddress:
    """Make a machine's public address. The address outlives the machine, which may be replaced, and is in every zone.
    Connections that the machine itself opens leave through the site's NAT gateway (learn.microsoft.com, "What is Azure
    NAT Gateway?")."""
    site = azure_site(environment, machine.site)
    return network.PublicIPAddress(
        f"{machine.name}-public",
        public_ip_address_name=cloud_name(environment, machine.name),
        resource_group_name=group,
        location=site.region,
        public_ip_allocation_method="Static",
        zones=address_zones(site.region, site.zones),
        sku=network.PublicIPAddressSkuArgs(name="Standard"),
        tags={**site_tags(environment, machine.site), MACHINE: str(machine.role)},
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["zones"])),
    )
