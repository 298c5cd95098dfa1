"""Lookups of a site's existing resources on AWS, which are checked against the address plan before anything depends on
them.

Each function returns the id of a resource that the environment names. The id is an output that becomes known when the
resource has passed its checks, so resources made from it wait for the checks, in a preview as well.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOutputOptions, Output

from clouds.aws.existing_networks import attachment_faults, subnet_faults, table_faults
from clouds.aws.existing_section import AwsNodeSubnet
from clouds.aws.site import AwsSite
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, network_faults, ranges_of
from components.environment.existing import require, was_answered
from components.model import AddressPlan
from components.model.sites.places import site_ranges

VPC_RANGE_STATES = ("associated", "associating")
"""States of a range that belongs to a VPC or soon will (EC2 API, ``VpcCidrBlockState``)."""


def existing_vpc(
    id_: str, site: AwsSite, addresses: AddressPlan, *, site_name: str, parent: pulumi.Resource
) -> Output[str]:
    """Return the id of a VPC that contains the site's block."""
    vpc = aws.ec2.get_vpc_output(id=id_, region=site.region, opts=InvokeOutputOptions(parent=parent))

    def check(answer: Any) -> str:
        if was_answered(answer):
            network = FoundNetwork(region=site.region, ranges=_ranges(answer))
            faults = network_faults(network, site_ranges(addresses, site_name), region=site.region)
            require(f"sites.{site_name}.existing.vpc", id_, faults)
        return id_

    return vpc.apply(check)


def existing_subnet(
    named: AwsNodeSubnet, wanted: IPv4Network, site: AwsSite, *, site_name: str, zone: str, parent: pulumi.Resource
) -> tuple[Output[str], Output[str]]:
    """Return the ids of a zone's node subnet and of its route table."""
    opts = InvokeOutputOptions(parent=parent)
    at = f"sites.{site_name}.existing.node_subnets.{zone}"
    subnet = aws.ec2.get_subnet_output(id=named.subnet, region=site.region, opts=opts)
    table = aws.ec2.get_route_table_output(route_table_id=named.route_table, region=site.region, opts=opts)

    def check_subnet(answer: Any) -> str:
        if was_answered(answer):
            actual = FoundSubnet(
                ranges=ranges_of([answer.cidr_block]), network=answer.vpc_id or "", zone=answer.availability_zone or ""
            )
            require(f"{at}.subnet", named.subnet, subnet_faults(actual, wanted, site, zone=zone))
        return named.subnet

    def check_table(answer: Any) -> str:
        if was_answered(answer):
            associated = [association.subnet_id for association in answer.associations or ()]
            require(f"{at}.route_table", named.route_table, table_faults(associated, named.subnet))
        return named.route_table

    checked_table = table.apply(check_table)
    checked = Output.all(subnet=subnet.apply(check_subnet), table=checked_table)
    return checked.apply(lambda both: both["subnet"]), checked_table


def existing_vpn_gateway(
    id_: str, vpc: str | None, *, region: str, site_name: str, parent: pulumi.Resource
) -> Output[str]:
    """Return the id of a virtual private gateway that is attached to the site's VPC."""
    gateway = aws.ec2.get_vpn_gateway_output(id=id_, region=region, opts=InvokeOutputOptions(parent=parent))

    def check(answer: Any) -> str:
        if was_answered(answer):
            faults = attachment_faults(answer.attached_vpc_id or "", vpc or "")
            require(f"sites.{site_name}.existing.vpn_gateway", id_, faults)
        return id_

    return gateway.apply(check)


def _ranges(vpc: Any) -> tuple[IPv4Network, ...]:
    more = [
        cidr_block_association.cidr_block
        for cidr_block_association in vpc.cidr_block_associations or ()
        if cidr_block_association.state in VPC_RANGE_STATES
    ]
    return ranges_of(dict.fromkeys([vpc.cidr_block, *more]))
