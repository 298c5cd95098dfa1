"""Virtual network of a site on Azure: subnets, security groups, egress, private names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import network, privatedns, resources

from clouds.azure.existing_networks import BACKUP_SUBNETS, VAULT_ENDPOINT
from clouds.azure.existing_section import group_of, name_of
from clouds.azure.names import STORAGE, resource_group, subnet_name
from clouds.azure.parts import control_subnets, egress_names
from clouds.azure.zones import address_zones
from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.azure.existing_lookups import existing_group, existing_network, existing_zone
from components.azure.rules import part_rules
from components.model import AddressPlan, Environment
from components.model.sites.cloud_names import cloud_name
from components.model.sites.places import place_of

_ENCRYPTION = network.VirtualNetworkEncryptionArgs(enabled=True, enforcement="AllowUnencrypted")
"""Encryption of traffic inside the network. Machines that cannot encrypt send plain traffic: Azure accepts no other
``enforcement`` (learn.microsoft.com/rest/api/virtualnetwork, ``VirtualNetworkEncryptionEnforcement``)."""


@dataclass(frozen=True, kw_only=True)
class SiteNetworkArgs:
    """Arguments of a site's network."""

    environment: Environment
    addresses: AddressPlan
    site: str
    control_plane: bool
    """True when the site holds the control plane."""


class SiteNetwork(ComponentResource):
    """Resource group, virtual network and its parts. Existing resources are used as they are."""

    resource_group: Output[str]
    """Name of the site's resource group."""
    network_id: Output[str]
    """Id of the virtual network."""
    network_name: Output[str]
    """Name of the virtual network."""
    network_group: Output[str]
    """Name of the virtual network's resource group."""
    subnet_ids: Mapping[str, Output[str]]
    """Id of each subnet by its part of the address plan: ``etcd``, ``events``, ``api``, ``vpn``,
    ``nodes``."""
    interface_rules: Mapping[str, Output[str]]
    """Id of the security group of each part whose subnet exists already. The interfaces of the part's machines get this
    group, because the subnet keeps its own rules. Azure admits only traffic that both groups allow."""
    zone_name: Output[str] | None
    """Name of the private DNS zone if the site holds the control plane; else None."""
    zone_group: Output[str]
    """Name of the zone's resource group."""

    def __init__(self, name: str, args: SiteNetworkArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:SiteNetwork", name, None, opts)
        site = azure_site(args.environment, args.site)
        self._name, self._args, self._site, self._there = name, args, site, site.existing
        self._child = ResourceOptions(parent=self)
        self._control_subnets = control_subnets(place_of(args.environment, args.site))
        self._plan = args.addresses.sites[args.site]
        self._tags = site_tags(args.environment, args.site)
        self.resource_group = self._group()
        self.network_id, self.network_name, self.network_group = self._network()
        self.subnet_ids, self.interface_rules = self._subnets()
        self.zone_name, self.zone_group = None, self.resource_group
        if args.control_plane:
            self.zone_name, self.zone_group = self._private_zone()
        self.register_outputs({"network_id": self.network_id})

    def _cloud_name(self, name: str) -> str:
        return cloud_name(self._args.environment, name)

    def _group(self) -> Output[str]:
        if self._there.resource_group is not None:
            return existing_group(self._there.resource_group, site=self._args.site, parent=self)
        group = resources.ResourceGroup(
            self._name,
            resource_group_name=resource_group(place_of(self._args.environment, self._args.site)),
            location=self._site.region,
            tags=self._tags,
            opts=self._child,
        )
        return group.name

    def _network(self) -> tuple[Output[str], Output[str], Output[str]]:
        """Return the id, the name and the resource group of the virtual network."""
        there = self._there.network
        if there is not None:
            args = self._args
            id_ = existing_network(there, args.environment, args.addresses, site=args.site, parent=self)
            return id_, id_.apply(name_of), id_.apply(group_of)
        made = network.VirtualNetwork(
            f"{self._name}-network",
            virtual_network_name=self._cloud_name(self._name),
            resource_group_name=self.resource_group,
            location=self._site.region,
            address_space=network.AddressSpaceArgs(address_prefixes=[str(self._plan.block)]),
            encryption=_ENCRYPTION if self._site.encrypted else None,
            tags=self._tags,
            # Subnets are resources of their own; without this the provider would compare the network's own list.
            opts=ResourceOptions.merge(self._child, ResourceOptions(ignore_changes=["subnets"])),
        )
        return made.id, made.name, self.resource_group

    def _egress(self) -> network.NatGateway:
        """Make the way out of the site, with an address for each few hundred machines. Addresses are static, so that
        others can admit them. The gateway is in one zone, which Azure chooses, and is lost only with that zone. Its
        addresses may be in all (azure-docs ``nat-gateway-resource.md``, "Availability zones"). A gateway in each zone
        would need a subnet in each, and a zone-redundant gateway needs another SKU of gateway and address
        (learn.microsoft.com/azure/nat-gateway/nat-availability-zones)."""
        addresses = [
            network.PublicIPAddress(
                name,
                public_ip_address_name=self._cloud_name(name),
                resource_group_name=self.resource_group,
                location=self._site.region,
                public_ip_allocation_method="Static",
                zones=address_zones(self._site.region, self._site.zones),
                sku=network.PublicIPAddressSkuArgs(name="Standard"),
                tags=self._tags,
                opts=ResourceOptions.merge(self._child, ResourceOptions(ignore_changes=["zones"])),
            )
            for name in egress_names(place_of(self._args.environment, self._args.site))
        ]
        return network.NatGateway(
            f"{self._name}-nat",
            nat_gateway_name=self._cloud_name(f"{self._name}-nat"),
            resource_group_name=self.resource_group,
            location=self._site.region,
            public_ip_addresses=[network.SubResourceArgs(id=address.id) for address in addresses],
            sku=network.NatGatewaySkuArgs(name="Standard"),
            tags=self._tags,
            opts=self._child,
        )

    def _subnets(self) -> tuple[dict[str, Output[str]], dict[str, Output[str]]]:
        """Return the ids of subnets, and of security groups for existing subnets, by part. Azure changes one subnet of
        a network at a time, so each waits for the one before. Existing subnets keep their own egress."""
        # Nodes have their addresses in the pods' range: all addresses of an interface are in one subnet.
        wanted = {"nodes": self._plan.pods}
        wanted = {part: self._plan.subnet(part) for part in self._control_subnets} | wanted
        named = self._there.subnets.named()
        nat = None if wanted.keys() <= named.keys() else self._egress()
        ids: dict[str, Output[str]] = {}
        groups: dict[str, Output[str]] = {}
        previous: pulumi.Resource | None = None
        for part, range_ in wanted.items():
            rules = self._rules(part)
            if part in named:
                ids[part] = Output.concat(self.network_id, "/subnets/", named[part])
                groups[part] = rules.id
            elif nat is not None:
                previous = self._subnet(part, range_, rules, nat, after=previous)
                ids[part] = previous.id
        return ids, groups

    def _rules(self, part: str) -> network.NetworkSecurityGroup:
        args = self._args
        return network.NetworkSecurityGroup(
            f"{self._name}-{part}-rules",
            network_security_group_name=self._cloud_name(f"{self._name}-{part}"),
            resource_group_name=self.resource_group,
            location=self._site.region,
            security_rules=part_rules(args.environment, args.addresses, args.site, part),
            tags=self._tags,
            opts=self._child,
        )

    def _subnet(
        self,
        part: str,
        range_: IPv4Network,
        rules: network.NetworkSecurityGroup,
        nat: network.NatGateway,
        *,
        after: pulumi.Resource | None,
    ) -> network.Subnet:
        endpoints = [VAULT_ENDPOINT] if part in self._control_subnets else []
        # Blobs bypass the NAT gateway, which has a number of ports and charges by the byte; the endpoint costs nothing
        # (azure-docs ``virtual-network-service-endpoints-overview.md``).
        backups = self._args.environment.backups is not None and part in BACKUP_SUBNETS
        if part == "nodes" or backups:
            endpoints.append(STORAGE)
        return network.Subnet(
            f"{self._name}-{part}",
            subnet_name=subnet_name(place_of(self._args.environment, self._args.site), part),
            resource_group_name=self.network_group,
            virtual_network_name=self.network_name,
            address_prefix=str(range_),
            default_outbound_access=False,
            network_security_group=network.NetworkSecurityGroupArgs(id=rules.id),
            nat_gateway=network.SubResourceArgs(id=nat.id),
            service_endpoints=[network.ServiceEndpointPropertiesFormatArgs(service=endpoint) for endpoint in endpoints]
            or None,
            opts=ResourceOptions(parent=self, depends_on=[after] if after else None),
        )

    def _private_zone(self) -> tuple[Output[str], Output[str]]:
        """Link the private zone to the network. Return the zone's name and its resource group."""
        name, group = self._zone()
        if not self._there.dns_zone_linked:
            privatedns.VirtualNetworkLink(
                f"{self._name}-zone-link",
                virtual_network_link_name=self._cloud_name(self._name),
                private_zone_name=name,
                resource_group_name=group,
                location="global",
                registration_enabled=False,
                virtual_network=privatedns.SubResourceArgs(id=self.network_id),
                tags=self._tags,
                opts=self._child,
            )
        return name, group

    def _zone(self) -> tuple[Output[str], Output[str]]:
        there = self._there.dns_zone
        if there is not None:
            dns_zone = existing_zone(there, site=self._args.site, parent=self)
            return dns_zone, Output.from_input(group_of(there))
        zone = privatedns.PrivateZone(
            f"{self._name}-zone",
            private_zone_name=self._args.environment.domain,
            resource_group_name=self.resource_group,
            location="global",
            tags=self._tags,
            opts=self._child,
        )
        return zone.name, self.resource_group
