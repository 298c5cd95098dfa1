"""A site's virtual network on Azure: subnets, security groups, egress, private names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import network, privatedns, resources
from pulumi_azure_native.network import SecurityRuleArgs

from components.azure import names
from components.model import AddressPlan, Environment, SitePlan
from components.model.joining import JOIN_PORT, joining_ranges
from components.model.sites import AwsSite, AzureSite

VAULT_ENDPOINT = "Microsoft.KeyVault"
"""Service endpoint that lets a subnet reach vaults without leaving Azure's network."""

CONTROL_PLANE_SUBNETS = ("etcd", "events", "api")
"""Subnets that only a site with a control plane has."""


@dataclass(frozen=True, kw_only=True)
class SiteNetworkArgs:
    """What a site's network is made of."""

    environment: Environment
    addresses: AddressPlan
    site: str
    control_plane: bool
    """Whether the site holds the control plane."""


class SiteNetwork(ComponentResource):
    """Resource group, virtual network and what belongs to it."""

    resource_group: Output[str]
    """Name of the site's group."""
    network_id: Output[str]
    """Id of the virtual network."""
    network_name: Output[str]
    """Its name."""
    subnet_ids: Mapping[str, Output[str]]
    """Id of each subnet by its part of the address plan; ``nodes-<zone>`` for the node subnets."""
    zone_name: Output[str] | None
    """Name of the private DNS zone, where the site holds the control plane."""

    def __init__(self, name: str, args: SiteNetworkArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:SiteNetwork", name, None, opts)
        site = args.environment.sites[args.site]
        if not isinstance(site, AzureSite):
            raise TypeError(f"site {args.site} is {site.kind}, not azure")
        self._name, self._args, self._site = name, args, site
        self._child = ResourceOptions(parent=self)
        self._plan = args.addresses.sites[args.site]
        self._tags = names.tags(args.environment, args.site)
        group = resources.ResourceGroup(
            name,
            resource_group_name=names.resource_group(args.environment, args.site),
            location=site.region,
            tags=self._tags,
            opts=self._child,
        )
        self.resource_group = group.name
        self._network = network.VirtualNetwork(
            f"{name}-network",
            virtual_network_name=name,
            resource_group_name=group.name,
            location=site.region,
            address_space=network.AddressSpaceArgs(address_prefixes=[str(self._plan.block)]),
            tags=self._tags,
            # Subnets are resources of their own; without this the provider would compare the network's own list.
            opts=ResourceOptions.merge(self._child, ResourceOptions(ignore_changes=["subnets"])),
        )
        self.network_id, self.network_name = self._network.id, self._network.name
        self._nat = self._egress()
        self.subnet_ids = self._subnets()
        self.zone_name = self._private_zone() if args.control_plane else None
        self.register_outputs({"network_id": self.network_id})

    def _egress(self) -> network.NatGateway:
        """One address for everything that leaves the site; static, so that others can admit it."""
        address = network.PublicIPAddress(
            f"{self._name}-egress",
            public_ip_address_name=f"{self._name}-egress",
            resource_group_name=self.resource_group,
            location=self._site.region,
            public_ip_allocation_method="Static",
            zones=list(self._site.zones),
            sku=network.PublicIPAddressSkuArgs(name="Standard"),
            tags=self._tags,
            opts=self._child,
        )
        return network.NatGateway(
            f"{self._name}-nat",
            nat_gateway_name=f"{self._name}-nat",
            resource_group_name=self.resource_group,
            location=self._site.region,
            public_ip_addresses=[network.SubResourceArgs(id=address.id)],
            sku=network.NatGatewaySkuArgs(name="Standard"),
            tags=self._tags,
            opts=self._child,
        )

    def _subnets(self) -> dict[str, Output[str]]:
        """Azure changes one subnet of a network at a time, so each waits for the one before."""
        wanted: dict[str, tuple[IPv4Network, list[SecurityRuleArgs]]] = {}
        if self._args.control_plane:
            for part in CONTROL_PLANE_SUBNETS:
                rules = _api_rules(self._args) if part == "api" else _store_rules(self._plan, part, self._site.region)
                wanted[part] = (self._plan.subnet(part), rules)
        # Nodes are in the pods' range: all addresses of an interface come from one subnet.
        wanted["nodes"] = (self._plan.pods, _node_rules(self._args.addresses))
        made: dict[str, Output[str]] = {}
        previous: pulumi.Resource | None = None
        for part, (range_, rules) in wanted.items():
            previous = self._subnet(part, range_, rules, after=previous)
            made[part] = previous.id
        return made

    def _subnet(
        self,
        part: str,
        range_: IPv4Network,
        rules: list[SecurityRuleArgs],
        *,
        after: pulumi.Resource | None,
    ) -> network.Subnet:
        group = network.NetworkSecurityGroup(
            f"{self._name}-{part}-rules",
            network_security_group_name=f"{self._name}-{part}",
            resource_group_name=self.resource_group,
            location=self._site.region,
            security_rules=rules,
            tags=self._tags,
            opts=self._child,
        )
        needs_vault = part in CONTROL_PLANE_SUBNETS
        return network.Subnet(
            f"{self._name}-{part}",
            subnet_name=part,
            resource_group_name=self.resource_group,
            virtual_network_name=self._network.name,
            address_prefix=str(range_),
            default_outbound_access=False,
            network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
            nat_gateway=network.SubResourceArgs(id=self._nat.id),
            service_endpoints=[network.ServiceEndpointPropertiesFormatArgs(service=VAULT_ENDPOINT)]
            if needs_vault
            else None,
            opts=ResourceOptions(parent=self, depends_on=[after] if after else None),
        )

    def _private_zone(self) -> Output[str]:
        zone = privatedns.PrivateZone(
            f"{self._name}-zone",
            private_zone_name=self._args.environment.domain,
            resource_group_name=self.resource_group,
            location="global",
            tags=self._tags,
            opts=self._child,
        )
        privatedns.VirtualNetworkLink(
            f"{self._name}-zone-link",
            virtual_network_link_name=self._name,
            private_zone_name=zone.name,
            resource_group_name=self.resource_group,
            location="global",
            registration_enabled=False,
            virtual_network=privatedns.SubResourceArgs(id=self.network_id),
            tags=self._tags,
            opts=self._child,
        )
        return zone.name


def _rule(
    name: str,
    priority: int,
    *,
    direction: str = "Inbound",
    access: str = "Allow",
    protocol: str = "Tcp",
    sources: list[str],
    destination: str = "*",
    ports: list[str],
) -> SecurityRuleArgs:
    single = sources[0] if len(sources) == 1 else None
    return SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=direction,
        access=access,
        protocol=protocol,
        source_address_prefix=single,
        source_address_prefixes=None if single else sources,
        source_port_range="*",
        destination_address_prefix=destination,
        destination_port_ranges=ports,
    )


def _deny_rest(*, direction: str = "Inbound") -> SecurityRuleArgs:
    """Above Azure's own rules, which admit the whole virtual network, its peers and its VPN, and everything out."""
    name = "deny-rest" if direction == "Inbound" else "deny-rest-out"
    return _rule(name, 4096, direction=direction, access="Deny", protocol="*", sources=["*"], ports=["0-65535"])


def _store_rules(plan: SitePlan, part: str, region: str) -> list[SecurityRuleArgs]:
    """Members talk to each other, API servers to members. Out they reach their peers, the vault, and where the cloud's
    agent returns the results of run commands: Azure's own addresses in the region (learn.microsoft.com, "Run scripts
    in your Linux VM by using action Run Commands")."""
    own = str(plan.subnet(part))
    return [
        _rule("peers", 100, sources=[own], ports=["2379-2380"]),
        _rule("api-servers", 110, sources=[str(plan.subnet("api"))], ports=["2379"]),
        _deny_rest(),
        _outbound("peers-out", 100, destination=own, ports=["2379-2380"]),
        _outbound("vault", 110, destination="AzureKeyVault"),
        _outbound("agent", 120, destination=f"AzureCloud.{region}"),
        _deny_rest(direction="Outbound"),
    ]


def _api_rules(args: SiteNetworkArgs) -> list[SecurityRuleArgs]:
    """In, the API is for the environment's own addresses: nodes, pods and operators of every site, also those that come
    over the VPN; the join service is for the ranges that pools' machines are in. Out, API servers reach every address
    of the environment: stores, kubelets, and pods, of which any may be a webhook on any port. Besides them the vault,
    the cloud's agent as in :func:`_store_rules`, and for the node controller and the join service the APIs of the
    clouds that have machines (AWS has no addresses of its own that a rule could name) and Azure's directory, which
    tells what machines' tokens are signed with."""
    port = str(args.environment.control_plane.api.port)
    supernet, region = str(args.addresses.supernet), _region(args)
    sites = args.environment.sites.values()
    out = [
        _outbound("environment-out", 100, destination=supernet, ports=["0-65535"], protocol="*"),
        _outbound("vault", 110, destination="AzureKeyVault"),
        _outbound("agent", 120, destination=f"AzureCloud.{region}"),
    ]
    if any(isinstance(args.environment.sites[pool.site], AzureSite) for pool in args.environment.pools.values()):
        out.append(_outbound("azure-api", 130, destination="AzureResourceManager"))
        out.append(_outbound("azure-directory", 135, destination="AzureActiveDirectory"))
    if any(isinstance(site, AwsSite) for site in sites):
        out.append(_outbound("aws-api", 140, destination="Internet"))
    joining = [str(range_) for range_ in joining_ranges(args.environment, args.addresses)]
    return [
        _rule("api", 100, sources=[supernet], ports=[port]),
        *([_rule("join", 105, sources=joining, ports=[str(JOIN_PORT)])] if joining else []),
        _rule("probes", 110, sources=["AzureLoadBalancer"], ports=[port, str(JOIN_PORT)]),
        _deny_rest(),
        *out,
        _deny_rest(direction="Outbound"),
    ]


def _region(args: SiteNetworkArgs) -> str:
    return str(getattr(args.environment.sites[args.site], "region", ""))


def _outbound(
    name: str, priority: int, *, destination: str, ports: list[str] | None = None, protocol: str = "Tcp"
) -> SecurityRuleArgs:
    """Let out; HTTPS alone unless said otherwise."""
    return _rule(
        name,
        priority,
        direction="Outbound",
        protocol=protocol,
        sources=["*"],
        destination=destination,
        ports=ports or ["443"],
    )


def _node_rules(addresses: AddressPlan) -> list[SecurityRuleArgs]:
    """Nodes and pods are one flat network inside the environment."""
    return [
        _rule("environment", 100, protocol="*", sources=[str(addresses.supernet)], ports=["0-65535"]),
        _deny_rest(),
    ]
