"""A site's network on AWS: VPC, subnets, egress, routes, security group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi_aws as aws
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from components.aws.account import aws_site
from components.model import AddressPlan, Environment, SitePlan
from components.model.network import nth_subnet

LARGEST_BLOCK = 16
"""Prefix of the largest range of a VPC (docs.aws.amazon.com, "VPC CIDR blocks"); a larger site takes several ranges,
five unless the quota "IPv4 CIDR blocks per VPC" is raised."""

FIRST_PUBLIC = 8
"""Sixteenth of the infrastructure range that is the first zone's public subnet; the plan's own parts are below it."""

OWN_SHARE_BITS = 4
"""A node takes a /28 for its pods and one address of its own, so a sixteenth of its subnet is kept for the nodes'
own."""


@dataclass(frozen=True, kw_only=True)
class AwsSiteNetworkArgs:
    """What a site's network is made of."""

    environment: Environment
    addresses: AddressPlan
    site_name: str
    tags: Mapping[str, str]


def node_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """The subnet of a zone's nodes and of their pods: EC2 takes an interface's prefix from the interface's own subnet
    (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network interfaces"), so both have to be in one."""
    return site.zone_pods(zone)


def public_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """The subnet of a zone's NAT gateway."""
    return nth_subnet(site.infra, site.infra.prefixlen + 4, FIRST_PUBLIC + zone)


def pod_reservations(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """The parts of a node subnet that only prefixes are taken from: all but its first sixteenth. Without them single
    addresses land anywhere, and a subnet half full may have no aligned /28 left."""
    own = nth_subnet(subnet, subnet.prefixlen + OWN_SHARE_BITS, 0)
    return tuple(sorted(subnet.address_exclude(own)))


def node_capacity(subnet: IPv4Network) -> int:
    """Nodes that fit into a node subnet, each with a /28: 480 in a /19."""
    return int(sum(part.num_addresses for part in pod_reservations(subnet)) // 16)


class AwsSiteNetwork(ComponentResource):
    """The VPC of one site. Nothing in it has a public address but the NAT gateways."""

    vpc_id: Output[str]
    """Id of the VPC."""
    node_subnet_ids: tuple[Output[str], ...]
    """Id of each zone's node subnet, in the order of the site's zones."""
    route_table_ids: tuple[Output[str], ...]
    """Id of each node subnet's route table, in the same order: links add their routes to them."""
    security_group_id: Output[str]
    """The group that every node is in."""
    egress_addresses: tuple[Output[str], ...]
    """Public address that each zone leaves through, in the same order."""

    def __init__(self, name: str, args: AwsSiteNetworkArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:SiteNetwork", name, None, opts)
        self._name, self._args = name, args
        self._site = aws_site(args.environment, args.site_name)
        self._plan = args.addresses.sites[args.site_name]
        self._region = self._site.region
        self._child = ResourceOptions(parent=self)
        ranges = self._vpc()
        public_table, gateway = self._internet()
        zones = [
            self._zone(index, public_table=public_table, after=[gateway, *ranges])
            for index in range(len(self._site.zones))
        ]
        self.node_subnet_ids = tuple(subnet for subnet, _, _ in zones)
        self.route_table_ids = tuple(table for _, table, _ in zones)
        self.egress_addresses = tuple(address for _, _, address in zones)
        self._storage_endpoint()
        self.security_group_id = self._security_group()
        self.register_outputs({"vpc_id": self.vpc_id})

    def _tags(self, part: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._name}-{part}"}

    def _vpc(self) -> Sequence[Resource]:
        """The VPC over the site's whole block; returns what subnets outside its first range wait for."""
        block = self._plan.block
        first, *more = [block] if block.prefixlen >= LARGEST_BLOCK else block.subnets(new_prefix=LARGEST_BLOCK)
        vpc = aws.ec2.Vpc(
            f"{self._name}-vpc",
            region=self._region,
            cidr_block=str(first),
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self._tags("vpc"),
            opts=self._child,
        )
        self.vpc_id = vpc.id
        return [
            aws.ec2.VpcIpv4CidrBlockAssociation(
                f"{self._name}-range-{index}",
                region=self._region,
                vpc_id=vpc.id,
                cidr_block=str(range_),
                opts=self._child,
            )
            for index, range_ in enumerate(more, start=1)
        ]

    def _internet(self) -> tuple[aws.ec2.RouteTable, aws.ec2.InternetGateway]:
        gateway = aws.ec2.InternetGateway(
            f"{self._name}-internet",
            region=self._region,
            vpc_id=self.vpc_id,
            tags=self._tags("internet"),
            opts=self._child,
        )
        table = self._route_table("public")
        self._route("public-default", table, gateway_id=gateway.id)
        return table, gateway

    def _route_table(self, part: str) -> aws.ec2.RouteTable:
        # Routes are resources of their own: links add theirs, and a table with routes of its own would drop those.
        return aws.ec2.RouteTable(
            f"{self._name}-{part}-routes",
            region=self._region,
            vpc_id=self.vpc_id,
            tags=self._tags(part),
            opts=self._child,
        )

    def _route(
        self,
        part: str,
        table: aws.ec2.RouteTable,
        *,
        gateway_id: Output[str] | None = None,
        nat_gateway_id: Output[str] | None = None,
    ) -> None:
        aws.ec2.Route(
            f"{self._name}-{part}",
            region=self._region,
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self._child,
        )

    def _zone(
        self, index: int, *, public_table: aws.ec2.RouteTable, after: Sequence[Resource]
    ) -> tuple[Output[str], Output[str], Output[str]]:
        """One zone's subnets; returns its node subnet, that one's route table and the zone's public address.

        Each zone has a NAT gateway of its own: the loss of one zone leaves the others' egress alone, and egress through
        another zone would be charged for crossing as well."""
        zone = self._site.zones[index]
        public = self._subnet(f"public-{zone}", public_subnet(self._plan, index), zone, after=after)
        self._associate(f"public-{zone}", public, public_table)
        address = aws.ec2.Eip(
            f"{self._name}-egress-{zone}",
            region=self._region,
            domain="vpc",
            tags=self._tags(f"egress-{zone}"),
            opts=ResourceOptions(parent=self, depends_on=after),
        )
        nat = aws.ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            region=self._region,
            allocation_id=address.allocation_id,
            subnet_id=public.id,
            tags=self._tags(f"nat-{zone}"),
            opts=ResourceOptions(parent=self, depends_on=after),
        )
        nodes = self._subnet(f"nodes-{zone}", node_subnet(self._plan, index), zone, after=after)
        for part, range_ in enumerate(pod_reservations(node_subnet(self._plan, index))):
            aws.ec2.SubnetCidrReservation(
                f"{self._name}-pods-{zone}-{part}",
                region=self._region,
                subnet_id=nodes.id,
                cidr_block=str(range_),
                reservation_type="prefix",
                description="pods",
                opts=self._child,
            )
        table = self._route_table(f"nodes-{zone}")
        self._route(f"nodes-{zone}-default", table, nat_gateway_id=nat.id)
        self._associate(f"nodes-{zone}", nodes, table)
        return nodes.id, table.id, address.public_ip

    def _subnet(self, part: str, range_: IPv4Network, zone: str, *, after: Sequence[Resource]) -> aws.ec2.Subnet:
        return aws.ec2.Subnet(
            f"{self._name}-{part}",
            region=self._region,
            vpc_id=self.vpc_id,
            availability_zone=f"{self._region}{zone}",
            cidr_block=str(range_),
            map_public_ip_on_launch=False,
            tags=self._tags(part),
            opts=ResourceOptions(parent=self, depends_on=after),
        )

    def _associate(self, part: str, subnet: aws.ec2.Subnet, table: aws.ec2.RouteTable) -> None:
        aws.ec2.RouteTableAssociation(
            f"{self._name}-{part}-association",
            region=self._region,
            subnet_id=subnet.id,
            route_table_id=table.id,
            opts=self._child,
        )

    def _storage_endpoint(self) -> None:
        """Object storage past the NAT gateways, which charge by the byte; the endpoint itself costs nothing."""
        aws.ec2.VpcEndpoint(
            f"{self._name}-storage",
            region=self._region,
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{self._region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=list(self.route_table_ids),
            tags=self._tags("storage"),
            opts=self._child,
        )

    def _security_group(self) -> Output[str]:
        """In from the environment's own addresses only: nodes and pods of every site are one flat network."""
        group = aws.ec2.SecurityGroup(
            f"{self._name}-nodes",
            region=self._region,
            name=f"{self._name}-nodes",
            description="Longhaul nodes",
            vpc_id=self.vpc_id,
            tags=self._tags("nodes"),
            opts=self._child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-nodes-in",
            region=self._region,
            security_group_id=group.id,
            cidr_ipv4=str(self._args.addresses.supernet),
            ip_protocol="-1",
            description="the environment",
            tags=self._tags("nodes"),
            opts=self._child,
        )
        aws.vpc.SecurityGroupEgressRule(
            f"{self._name}-nodes-out",
            region=self._region,
            security_group_id=group.id,
            cidr_ipv4="0.0.0.0/0",
            ip_protocol="-1",
            description="anywhere, by the zone's NAT gateway",
            tags=self._tags("nodes"),
            opts=self._child,
        )
        return group.id
