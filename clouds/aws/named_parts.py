"""Asks AWS for the existing resources that the environment names for a site, and checks them. Every preview looks them
up as well (components/aws/existing_lookups.py); this module and the preview use the verdicts of
:mod:`clouds.aws.existing_networks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clouds.aws.existing_networks import attachment_faults, subnet_faults, table_faults
from clouds.aws.existing_section import AwsNodeSubnet
from clouds.aws.reader import AwsReader, reader_errors, vpc_blocks
from clouds.aws.site import AwsSite
from clouds.base.doctor import CloudShare, fitted
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, network_faults, ranges_of
from clouds.base.findings import Finding


def named_parts(share: CloudShare[AwsSite], reader: AwsReader, name: str) -> Iterator[Finding]:
    """Check a site's VPC, node subnets with their route tables, and gateways, by EC2's ``Describe`` operations."""
    site, ranges = share.places[name].site, share.ranges[name]
    there, key = site.existing, f"sites.{name}.existing"
    if there.vpc is None:
        return
    ec2 = reader.client("ec2", site.region)
    vpc = _described(ec2, "vpcs", "vpc-id", there.vpc)
    faults: Iterable[str] = ()
    if vpc is not None:
        network = FoundNetwork(region=site.region, ranges=ranges_of(vpc_blocks(vpc)))
        faults = network_faults(network, ranges, region=site.region)
    yield from fitted(share, f"{key}.vpc", "VPC", there.vpc, vpc, faults)
    for zone, named in there.node_subnets.items():
        yield from _node_subnet(share, ec2, site, named, f"{key}.node_subnets.{zone}", name=name, zone=zone)
    for part, id_, what, operation in (
        ("internet_gateway", there.internet_gateway, "internet gateway", "internet_gateways"),
        ("vpn_gateway", there.vpn_gateway, "VPN gateway", "vpn_gateways"),
    ):
        if id_ is not None:
            gateway = _described(ec2, operation, f"{operation.removesuffix('s').replace('_', '-')}-id", id_)
            faults = attachment_faults(_attached(gateway), there.vpc) if gateway else ()
            yield from fitted(share, f"{key}.{part}", what, id_, gateway, faults)


def _node_subnet(
    share: CloudShare[AwsSite], ec2: Any, site: AwsSite, named: AwsNodeSubnet, key: str, *, name: str, zone: str
) -> Iterator[Finding]:
    subnet = _described(ec2, "subnets", "subnet-id", named.subnet)
    faults: Iterable[str] = ()
    if subnet is not None:
        wanted = share.ranges[name].zones[site.zones.index(zone)]
        ranges, place = ranges_of([subnet["CidrBlock"]]), str(subnet["AvailabilityZone"])
        actual = FoundSubnet(ranges=ranges, network=str(subnet["VpcId"]), zone=place)
        faults = subnet_faults(actual, wanted, site, zone=zone)
    yield from fitted(share, f"{key}.subnet", "subnet", named.subnet, subnet, faults)
    table, faults = _described(ec2, "route_tables", "route-table-id", named.route_table), ()
    if table is not None:
        faults = table_faults([str(association.get("SubnetId")) for association in table["Associations"]], named.subnet)
    yield from fitted(share, f"{key}.route_table", "route table", named.route_table, table, faults)


def _described(ec2: Any, what: str, filter_: str, id_: str) -> dict[str, Any] | None:
    """Return EC2's description of one resource; None when the region does not have it."""
    list_ = what.title().replace("_", "")
    with reader_errors(id_, needs=f"ec2:Describe{list_}"):
        answer = getattr(ec2, f"describe_{what}")(Filters=[{"Name": filter_, "Values": [id_]}])
        items: list[dict[str, Any]] = answer[list_]
    return items[0] if items else None


def _attached(gateway: dict[str, Any]) -> str:
    """Return the VPC that a gateway of either kind is attached to; empty for none. A VPC that is being detached does
    not count."""
    attachments = gateway.get("VpcAttachments") or gateway.get("Attachments") or []
    vpcs = [
        attachment["VpcId"] for attachment in attachments if attachment.get("State") not in ("detaching", "detached")
    ]
    return str(vpcs[0]) if vpcs else ""
