"""A site's network on AWS: VPC, subnets, egress, routes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi_aws as aws
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from clouds.aws.parts import egress_parts
from clouds.aws.ranges import pod_reservations, vpc_ranges
from components.aws.account import aws_site
from components.aws.existing_lookups import existing_subnet, existing_vpc
from components.aws.rules import node_rules, quarantine_rules
from components.aws.subnets import node_subnet, public_subnet
from components.model import AddressPlan, Environment
from components.model.sites.cloud_names import cloud_name
from components.model.sites.places import place_of


@dataclass(frozen=True, kw_only=True)
class AwsSiteNetworkArgs:
    """Arguments of a site's network."""

    environment: Environment
    addresses: AddressPlan
    site_name: str
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Zone:
    """Network of a zone's nodes."""

    subnet_id: Output[str]
    route_table_id: Output[str]
    addresses: tuple[Output[str], ...] = ()
    """Public addresses from which the nodes' traffic leaves the site; none in an existing subnet, which has its own
    egress."""


class AwsSiteNetwork(ComponentResource):
    """The VPC of one site. Only its NAT gateways have public addresses. Existing parts are used as they are: in a zone
    whose subnet the environment names, only the pods' reservations inside that subnet are made."""

    vpc_id: Output[str]
    """Id of the VPC."""
    node_subnet_ids: tuple[Output[str], ...]
    """Id of each zone's node subnet, in the order of the site's zones."""
    route_table_ids: Mapping[str, Output[str]]
    """Id of each route table of the node subnets. Links add their routes to these tables. The key is the zone's
    position among the site's zones if the table is made here, else the table's id. So no route is renamed when the file
    names another zone's subnet."""
    security_group_id: Output[str]
    """Id of the security group of every node."""
    egress_addresses: tuple[Output[str], ...]
    """Public egress addresses of the zones whose subnets are made here, in the order of the site's zones."""

    def __init__(self, name: str, args: AwsSiteNetworkArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:SiteNetwork", name, None, opts)
        self._name, self._args = name, args
        self._site = aws_site(args.environment, args.site_name)
        self._plan = args.addresses.sites[args.site_name]
        self._region = self._site.region
        self._child = ResourceOptions(parent=self)
        ranges = self._vpc()
        named = self._site.existing.node_subnets
        new_zones = [zone for zone in self._site.zones if zone not in named]
        made = self._zones(new_zones, after=ranges) if new_zones else {}
        there = {zone: self._zone_there(zone) for zone in self._site.zones if zone in named}
        self.node_subnet_ids = tuple((made.get(zone) or there[zone]).subnet_id for zone in self._site.zones)
        own_tables = {str(self._site.zones.index(zone)): subnet.route_table_id for zone, subnet in made.items()}
        tables = {named[zone].route_table: subnet.route_table_id for zone, subnet in there.items()}
        self.route_table_ids = {**own_tables, **tables}
        self.egress_addresses = tuple(address for zone in made.values() for address in zone.addresses)
        if own_tables:
            self._storage_endpoint(own_tables.values())
        self.security_group_id = node_rules(
            f"{self._name}-nodes",
            args.environment,
            args.addresses,
            region=self._region,
            vpc_id=self.vpc_id,
            efa=any(pool.efa for pool in args.environment.pools.values() if pool.site == args.site_name),
            tags=self._tags("nodes"),
            opts=self._child,
        )
        quarantine_rules(
            f"{self._name}-quarantine",
            args.environment,
            args.addresses,
            region=self._region,
            vpc_id=self.vpc_id,
            tags=self._tags("quarantine"),
            opts=self._child,
        )
        self.register_outputs({"vpc_id": self.vpc_id})

    def _tags(self, part: str) -> dict[str, str]:
        return {**self._args.tags, "Name": cloud_name(self._args.environment, f"{self._name}-{part}")}

    def _vpc(self) -> Sequence[Resource]:
        """Make the VPC over the site's whole block. Return the resources that subnets outside its first range have to
        wait for."""
        block, there = self._plan.block, self._site.existing.vpc
        if there is not None:
            name = self._args.site_name
            self.vpc_id = existing_vpc(there, self._site, self._args.addresses, site_name=name, parent=self)
            return []
        first, *more = vpc_ranges(block)
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

    def _zones(self, zones: Sequence[str], *, after: Sequence[Resource]) -> dict[str, _Zone]:
        """Make everything in the zones whose subnets are made here."""
        public_table, gateway = self._internet()
        return {
            zone: self._zone(self._site.zones.index(zone), public_table=public_table, after=[*gateway, *after])
            for zone in zones
        }

    def _internet(self) -> tuple[aws.ec2.RouteTable, Sequence[Resource]]:
        """Make the public subnets' route table. Return it, and the resources that must exist before traffic can leave
        through it."""
        there = self._site.existing.internet_gateway
        if there is not None:
            table = self._route_table("public")
            self._route("public-default", table, gateway_id=Output.from_input(there))
            return table, []
        gateway = aws.ec2.InternetGateway(
            f"{self._name}-internet",
            region=self._region,
            vpc_id=self.vpc_id,
            tags=self._tags("internet"),
            opts=self._child,
        )
        table = self._route_table("public")
        self._route("public-default", table, gateway_id=gateway.id)
        return table, [gateway]

    def _route_table(self, part: str) -> aws.ec2.RouteTable:
        # Routes are separate resources: links add theirs, and a table with routes of its own would drop those.
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

    def _zone_there(self, zone: str) -> _Zone:
        """Return a zone whose node subnet exists already, with the subnet's route table."""
        wanted = node_subnet(self._plan, self._site.zones.index(zone))
        subnet, table = existing_subnet(
            self._site.existing.node_subnets[zone],
            wanted,
            self._site,
            site_name=self._args.site_name,
            zone=zone,
            parent=self,
        )
        self._reserve(zone, wanted, subnet)
        return _Zone(subnet_id=subnet, route_table_id=table)

    def _zone(self, index: int, *, public_table: aws.ec2.RouteTable, after: Sequence[Resource]) -> _Zone:
        """Make one zone's subnets, and its NAT gateway with an address for each few hundred machines.

        Each zone has its own NAT gateway: the loss of one zone does not affect the others' egress, and egress through
        another zone would also be charged as traffic between zones. Further addresses come and go in place
        (terraform-provider-aws, ``vpc_nat_gateway.go``: a change of ``secondary_allocation_ids`` forces no new
        gateway); only an empty list takes the last of them away.
        """
        zone = self._site.zones[index]
        public = self._subnet(f"public-{zone}", public_subnet(self._plan, index), zone, after=after)
        self._associate(f"public-{zone}", public, public_table)
        first, *more = [
            aws.ec2.Eip(
                f"{self._name}-{part}",
                region=self._region,
                domain="vpc",
                tags=self._tags(part),
                opts=ResourceOptions(parent=self, depends_on=after),
            )
            for part in egress_parts(place_of(self._args.environment, self._args.site_name), zone)
        ]
        nat = aws.ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            region=self._region,
            allocation_id=first.allocation_id,
            secondary_allocation_ids=[address.allocation_id for address in more],
            subnet_id=public.id,
            tags=self._tags(f"nat-{zone}"),
            opts=ResourceOptions(parent=self, depends_on=after),
        )
        nodes = self._subnet(f"nodes-{zone}", node_subnet(self._plan, index), zone, after=after)
        self._reserve(zone, node_subnet(self._plan, index), nodes.id)
        table = self._route_table(f"nodes-{zone}")
        self._route(f"nodes-{zone}-default", table, nat_gateway_id=nat.id)
        self._associate(f"nodes-{zone}", nodes, table)
        addresses = tuple(address.public_ip for address in (first, *more))
        return _Zone(subnet_id=nodes.id, route_table_id=table.id, addresses=addresses)

    def _reserve(self, zone: str, range_: IPv4Network, subnet_id: Output[str]) -> None:
        for part, pods in enumerate(pod_reservations(range_)):
            aws.ec2.SubnetCidrReservation(
                f"{self._name}-pods-{zone}-{part}",
                region=self._region,
                subnet_id=subnet_id,
                cidr_block=str(pods),
                reservation_type="prefix",
                description="pods",
                opts=self._child,
            )

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

    def _storage_endpoint(self, route_table_ids: Iterable[Output[str]]) -> None:
        """Make an endpoint for object storage. Its traffic bypasses the NAT gateways, which charge by the byte; the
        endpoint itself costs nothing."""
        aws.ec2.VpcEndpoint(
            f"{self._name}-storage",
            region=self._region,
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{self._region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=list(route_table_ids),
            tags=self._tags("storage"),
            opts=self._child,
        )
