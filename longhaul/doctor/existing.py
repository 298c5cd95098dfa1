"""Do the parts fit that the environment names instead of having them made. Every preview looks them up as well
(components/azure/existing.py, components/aws/existing.py); both judge by ``clouds/X/fitting.py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clouds.aws.existing import AwsNodeSubnet
from clouds.aws.fitting import attachment_faults, subnet_faults, table_faults
from clouds.aws.site import AwsSite
from clouds.azure.existing import AzureVpn, name_of
from clouds.azure.fitting import FoundGateway, gateway_faults
from clouds.azure.fitting import network_faults as azure_faults
from clouds.base.findings import Finding, ok, problem
from clouds.base.fitting import FoundNetwork, FoundSubnet, network_faults, ranges_of
from components.model.places import place_of, site_ranges
from longhaul.doctor.aws import Aws, asked, vpc_blocks
from longhaul.doctor.azure import NETWORK_VERSION, RESOURCES_VERSION, ZONES_VERSION, Azure
from longhaul.doctor.subject import Subject

MAKE_IT = "make it, name another one, or leave the key out and have one made"
FIT_IT = "have it changed, or the file (docs/existing.md, What has to fit)"


def azure(subject: Subject, client: Azure, name: str) -> Iterator[Finding]:
    """Group, network with its subnets, DNS zone and gateway of a site: learn.microsoft.com, "Resource Groups - Get",
    "Virtual Networks - Get", "Private Zones - Get", "Virtual Network Gateways - Get"."""
    site = subject.azure()[name]
    there, key = site.existing, f"sites.{name}.existing"
    if there.resource_group is not None:
        path = f"/subscriptions/{site.subscription}/resourcegroups/{there.resource_group}"
        group = client.find(path, version=RESOURCES_VERSION)
        yield from _judged(subject, f"{key}.resource_group", "resource group", there.resource_group, group, ())
    if there.network is not None:
        network = client.find(there.network, version=NETWORK_VERSION)
        place, ranges = place_of(subject.environment, name), site_ranges(subject.addresses, name)
        faults = azure_faults(_network(network), place, ranges) if network else ()
        yield from _judged(subject, f"{key}.network", "network", name_of(there.network), network, faults)
    if there.dns_zone is not None:
        zone = client.find(there.dns_zone, version=ZONES_VERSION)
        yield from _judged(subject, f"{key}.dns_zone", "DNS zone", name_of(there.dns_zone), zone, ())
    if there.vpn_gateway is not None:
        yield from _gateway(subject, client, there.vpn_gateway, f"{key}.vpn_gateway", network=there.network or "")


def _gateway(subject: Subject, client: Azure, vpn: AzureVpn, key: str, *, network: str) -> Iterator[Finding]:
    """A VPN gateway, and its public addresses ("Public IP Addresses - Get")."""
    document = client.find(vpn.id, version=NETWORK_VERSION)
    faults: Iterable[str] = ()
    if document is not None:
        told = document["properties"]
        instances = [one["properties"] for one in told.get("ipConfigurations") or []]
        ids = [one["publicIPAddress"]["id"] for one in instances if one.get("publicIPAddress")]
        addresses = [client.get(id_, version=NETWORK_VERSION)["properties"].get("ipAddress") for id_ in ids]
        found = FoundGateway(
            gateway_type=str(told.get("gatewayType")),
            vpn_type=str(told.get("vpnType")),
            size=str((told.get("sku") or {}).get("name")),
            addresses=tuple(one for one in addresses if one),
            subnets=tuple(one["subnet"]["id"] for one in instances if one.get("subnet")),
        )
        faults = gateway_faults(found, vpn, network=network)
    yield from _judged(subject, key, "VPN gateway", name_of(vpn.id), document, faults)


def _network(document: dict[str, Any]) -> FoundNetwork:
    told = document["properties"]
    return FoundNetwork(
        region=str(document["location"]),
        ranges=ranges_of((told.get("addressSpace") or {}).get("addressPrefixes") or ()),
        subnets={one["name"].lower(): _subnet(one["properties"]) for one in told.get("subnets") or ()},
    )


def _subnet(told: dict[str, Any]) -> FoundSubnet:
    single = [told["addressPrefix"]] if told.get("addressPrefix") else []
    delegated = [one["properties"]["serviceName"] for one in told.get("delegations") or ()]
    return FoundSubnet(
        ranges=ranges_of(told.get("addressPrefixes") or single),
        endpoints=tuple(one["service"] for one in told.get("serviceEndpoints") or ()),
        delegated=", ".join(delegated),
    )


def aws(subject: Subject, client: Aws, name: str) -> Iterator[Finding]:
    """VPC, node subnets with their route tables, and gateways of a site, by EC2's ``Describe`` operations."""
    site = subject.aws()[name]
    there, key = site.existing, f"sites.{name}.existing"
    if there.vpc is None:
        return
    ec2 = client.client("ec2", site.region)
    vpc = _described(ec2, "vpcs", "vpc-id", there.vpc)
    faults: Iterable[str] = ()
    if vpc is not None:
        found = FoundNetwork(region=site.region, ranges=ranges_of(vpc_blocks(vpc)))
        faults = network_faults(found, site_ranges(subject.addresses, name), region=site.region)
    yield from _judged(subject, f"{key}.vpc", "VPC", there.vpc, vpc, faults)
    for zone, named in there.node_subnets.items():
        yield from _node_subnet(subject, ec2, site, named, f"{key}.node_subnets.{zone}", name=name, zone=zone)
    for part, id_, what, operation in (
        ("internet_gateway", there.internet_gateway, "internet gateway", "internet_gateways"),
        ("vpn_gateway", there.vpn_gateway, "VPN gateway", "vpn_gateways"),
    ):
        if id_ is not None:
            gateway = _described(ec2, operation, f"{operation.removesuffix('s').replace('_', '-')}-id", id_)
            faults = attachment_faults(_attached(gateway), there.vpc) if gateway else ()
            yield from _judged(subject, f"{key}.{part}", what, id_, gateway, faults)


def _node_subnet(
    subject: Subject, ec2: Any, site: AwsSite, named: AwsNodeSubnet, key: str, *, name: str, zone: str
) -> Iterator[Finding]:
    subnet = _described(ec2, "subnets", "subnet-id", named.subnet)
    faults: Iterable[str] = ()
    if subnet is not None:
        wanted = subject.addresses.sites[name].zone_pods(site.zones.index(zone))
        ranges, place = ranges_of([subnet["CidrBlock"]]), str(subnet["AvailabilityZone"])
        found = FoundSubnet(ranges=ranges, network=str(subnet["VpcId"]), zone=place)
        faults = subnet_faults(found, wanted, site, zone=zone)
    yield from _judged(subject, f"{key}.subnet", "subnet", named.subnet, subnet, faults)
    table, faults = _described(ec2, "route_tables", "route-table-id", named.route_table), ()
    if table is not None:
        faults = table_faults([str(one.get("SubnetId")) for one in table["Associations"]], named.subnet)
    yield from _judged(subject, f"{key}.route_table", "route table", named.route_table, table, faults)


def _described(ec2: Any, what: str, filter_: str, id_: str) -> dict[str, Any] | None:
    """What EC2 tells of one thing; None when there is no such thing in the region."""
    list_ = what.title().replace("_", "")
    with asked(id_, needs=f"ec2:Describe{list_}"):
        answer = getattr(ec2, f"describe_{what}")(Filters=[{"Name": filter_, "Values": [id_]}])
        found: list[dict[str, Any]] = answer[list_]
    return found[0] if found else None


def _attached(gateway: dict[str, Any]) -> str:
    """The VPC that a gateway of either kind is attached to; empty for none. One that lets go of a VPC has none."""
    attachments = gateway.get("VpcAttachments") or gateway.get("Attachments") or []
    held = [one["VpcId"] for one in attachments if one.get("State") not in ("detaching", "detached")]
    return str(held[0]) if held else ""


def _judged(
    subject: Subject, key: str, what: str, named: str, found: dict[str, Any] | None, faults: Iterable[str]
) -> Iterator[Finding]:
    where = subject.at(key)
    if found is None:
        yield problem(f"the {what} {named} is not there", where, do=MAKE_IT)
        return
    wrong = [problem(f"the {what} {named}: {fault}", where, do=FIT_IT) for fault in faults]
    yield from wrong or [ok(f"the {what} {named} is there, and fits", where)]
