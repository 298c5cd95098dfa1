"""Checks AWS's quotas by Service Quotas' ``ListServiceQuotas``. Each quota is looked up by its name; the
answer also has the code that a request to raise it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from clouds.aws.parts import UNASKED_ADDRESSES, egress_addresses, made_zones, site_addresses
from clouds.aws.ranges import RANGES, vpc_ranges
from clouds.aws.reader import AwsReader, reader_errors, tagged
from clouds.aws.site import AwsSite
from clouds.base.doctor import CloudShare, MachineDemand
from clouds.base.findings import Finding, unknown
from clouds.base.quotas import Quota, judge

STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"

CLASSES = {
    **dict.fromkeys("acdhimrtz", STANDARD),
    "dl": "DL",
    "f": "F",
    "g": "G and VT",
    "vt": "G and VT",
    "inf": "Inf",
    "p": "P",
    "trn": "Trn",
    "x": "X",
}
"""Family of each quota, by the first letters of the machine type's name (docs.aws.amazon.com, EC2 user guide, "Spot
Instance quotas" and "Amazon EC2 On-Demand Instances quotas")."""

_OLDER = "All P4, P3 and P2 Spot Instance Requests"
OLDER_SPOT = {"p2": _OLDER, "p3": _OLDER, "p4": _OLDER, "p5": "All P5 Spot Instance Requests"}
"""Names of the spot quotas of family P before AWS merged them into one quota (EC2 user guide, "Spot Instance
quotas")."""

ADDRESSES = "EC2-VPC Elastic IPs"
GATEWAY_ADDRESSES = "Elastic IP addresses per public NAT gateway"
VPCS = "VPCs per Region"
BLOCKS = "IPv4 CIDR blocks per VPC"
CONNECTIONS = "VPN connections per VGW"
REGION_CONNECTIONS = "VPN connections per region"


@dataclass(frozen=True, kw_only=True)
class _Applied:
    """A quota with the value that applies to the account."""

    service: str
    code: str
    value: int


@dataclass(frozen=True, kw_only=True)
class _Region:
    """Quotas and machines of one region."""

    name: str
    quotas: dict[str, _Applied]
    """Quotas by name."""
    machines: tuple[MachineDemand, ...]
    """Machines that the environment needs in the region."""

    def quota(self, machine_type: str, *, spot: bool) -> str:
        """Return the name of the quota that a type counts against; empty when the account's quotas have none for the
        type."""
        names = quota_names(machine_type, spot=spot)
        return next((name for name in names if name in self.quotas), "")


def quotas(share: CloudShare[AwsSite], reader: AwsReader, region: str) -> Iterator[Finding]:
    """Check one region's quotas of cores by family, of Elastic IPs, of VPCs and of VPN connections."""
    names = share.regions()[region]
    limits = _Region(name=region, quotas=_applied(reader, region), machines=share.machines_in(*names))
    yield from _cores(share, reader.client("ec2", region), limits)
    yield from _networks(share, reader.client("ec2", region), limits, names)
    yield from _connections(share, reader.client("ec2", region), limits, names)


def quota_names(machine_type: str, *, spot: bool) -> tuple[str, ...]:
    """Return the names that the quota of a type may have, the likeliest first; none when its family is unknown."""
    begin = re.match(r"[a-z]+", machine_type)
    family = CLASSES.get(begin[0]) if begin else None
    if family is None:
        return ()
    if not spot:
        return (f"Running On-Demand {family} instances",)
    older = OLDER_SPOT.get(machine_type[:2])
    return (f"All {family} Spot Instance Requests", *((older,) if older else ()))


def _applied(reader: AwsReader, region: str) -> dict[str, _Applied]:
    """Return the quotas of EC2 and VPC, by name. "If the applied quota value is not available for a quota, the quota is
    not retrieved" (Service Quotas API, ``ListServiceQuotas``)."""
    by_name: dict[str, _Applied] = {}
    with reader_errors(f"the quotas of {region}", needs="servicequotas:ListServiceQuotas"):
        for service in ("ec2", "vpc"):
            pages = reader.client("service-quotas", region).get_paginator("list_service_quotas")
            for page in pages.paginate(ServiceCode=service):
                for quota in page["Quotas"]:
                    applied = _Applied(service=service, code=quota["QuotaCode"], value=int(quota["Value"]))
                    by_name[quota["QuotaName"]] = applied
    return by_name


def _cores(share: CloudShare[AwsSite], ec2: Any, region: _Region) -> Iterator[Finding]:
    used = _cores_in_use(ec2, share.environment) if region.machines else {}
    groups: dict[str, list[MachineDemand]] = {}
    for machine in region.machines:
        name = region.quota(machine.machine_type, spot=machine.spot)
        if name:
            groups.setdefault(name, []).append(machine)
        else:
            what = f"AWS {region.name}: Service Quotas lists no quota for {_words(machine)}"
            yield unknown(what, share.at(*machine.key))
    for name, wanted in groups.items():
        taken = sum(cores for (kind, spot), cores in used.items() if region.quota(kind, spot=spot) == name)
        least = sum(demand.least * demand.vcpus for demand in wanted)
        most = sum(demand.most * demand.vcpus for demand in wanted)
        where = tuple(share.at(*demand.key) for demand in wanted)
        yield _judged(region, name, "vCPUs", taken, (least, most), where)


def _words(demand: MachineDemand) -> str:
    return f"{demand.machine_type}, spot" if demand.spot else demand.machine_type


def _cores_in_use(ec2: Any, environment: str) -> dict[tuple[str, bool], int]:
    """Return the virtual cores of instances outside the environment, by type and whether they are spot: EC2's
    ``DescribeInstances`` (pending and running), ``DescribeInstanceTypes``. Instances of another ``InstanceLifecycle``,
    such as a capacity block's, do not count."""
    counts: dict[tuple[str, bool], int] = {}
    running = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    with reader_errors("the running instances", needs="ec2:DescribeInstances"):
        for page in ec2.get_paginator("describe_instances").paginate(Filters=running):
            for instance in (machine for reservation in page["Reservations"] for machine in reservation["Instances"]):
                lifecycle = instance.get("InstanceLifecycle", "")
                if lifecycle in ("", "spot") and not tagged(instance, environment):
                    key = (str(instance["InstanceType"]), lifecycle == "spot")
                    counts[key] = counts.get(key, 0) + 1
    vcpus = instance_vcpus(ec2, {kind for kind, _ in counts})
    return {(kind, spot): count * vcpus.get(kind, 0) for (kind, spot), count in counts.items()}


def instance_vcpus(ec2: Any, types: Iterable[str]) -> dict[str, int]:
    """Return the virtual cores of each type that the region has."""
    wanted = sorted(types)
    if not wanted:
        return {}
    with reader_errors("the cores of machine types", needs="ec2:DescribeInstanceTypes"):
        pages = ec2.get_paginator("describe_instance_types").paginate(
            Filters=[{"Name": "instance-type", "Values": wanted}]
        )
        return {
            str(kind["InstanceType"]): int(kind["VCpuInfo"]["DefaultVCpus"])
            for page in pages
            for kind in page["InstanceTypes"]
        }


def _networks(share: CloudShare[AwsSite], ec2: Any, region: _Region, names: list[str]) -> Iterator[Finding]:
    """Check the quotas of Elastic IPs and of VPCs (one for each site). Check those of a NAT gateway's addresses and of
    a VPC's ranges when a site needs more than AWS gives unasked. Existing zones and VPCs that a site names need none
    (components/aws/network.py)."""
    places = [share.places[name] for name in names]
    addresses = sum(site_addresses(place) for place in places)
    networks = sum(not place.site.existing.vpc for place in places)
    with reader_errors("the existing Elastic IPs", needs="ec2:DescribeAddresses"):
        others = [
            address for address in ec2.describe_addresses()["Addresses"] if not tagged(address, share.environment)
        ]
    yield _counted(region, ADDRESSES, "addresses", len(others), addresses, share.sites(*names))
    with reader_errors("the existing VPCs", needs="ec2:DescribeVpcs"):
        pages = ec2.get_paginator("describe_vpcs").paginate()
        vpcs = sum(not tagged(vpc, share.environment) for page in pages for vpc in page["Vpcs"])
    yield _counted(region, VPCS, "VPCs", vpcs, networks, share.sites(*names))
    for name, place in zip(names, places, strict=True):
        most = max((egress_addresses(place, zone) for zone in made_zones(place.site)), default=0)
        if most > UNASKED_ADDRESSES:
            yield _counted(region, GATEWAY_ADDRESSES, "addresses", 0, most, share.sites(name))
        blocks = len(vpc_ranges(share.ranges[name].block))
        if blocks > RANGES and not place.site.existing.vpc:
            yield _counted(region, BLOCKS, "ranges", 0, blocks, share.sites(name))


def _connections(share: CloudShare[AwsSite], ec2: Any, region: _Region, names: list[str]) -> Iterator[Finding]:
    """Check the quotas of VPN connections, one for each address of another site. On an existing gateway, other
    connections count too."""
    wanted = {name: share.remote_addresses[name] for name in names if share.remote_addresses[name]}
    if not wanted:
        return
    with reader_errors("the existing VPN connections", needs="ec2:DescribeVpnConnections"):
        connections = ec2.describe_vpn_connections()["VpnConnections"]
    alive = [connection for connection in connections if connection.get("State") not in ("deleting", "deleted")]
    others = [connection for connection in alive if not tagged(connection, share.environment)]
    for name, count in wanted.items():
        gateway = share.places[name].site.existing.vpn_gateway
        here = sum(other.get("VpnGatewayId") == gateway for other in others) if gateway else 0
        yield _counted(region, CONNECTIONS, "connections", here, count, share.sites(name))
    yield _counted(region, REGION_CONNECTIONS, "connections", len(others), sum(wanted.values()), share.sites(*wanted))


def _counted(region: _Region, name: str, unit: str, used: int, wanted: int, where: tuple[str, ...]) -> Finding:
    if name not in region.quotas:
        return unknown(f"AWS {region.name}: Service Quotas lists no quota {name!r}", *where)
    return _judged(region, name, unit, used, (wanted, wanted), where)


def _judged(
    region: _Region, name: str, unit: str, used: int, wanted: tuple[int, int], where: tuple[str, ...]
) -> Finding:
    applied = region.quotas[name]
    command = f"aws service-quotas request-service-quota-increase --service-code {applied.service}"
    return judge(
        Quota(
            place=f"AWS {region.name}",
            name=f"{name} ({applied.code})",
            unit=unit,
            limit=applied.value,
            used=used,
            least=wanted[0],
            most=wanted[1],
            where=where,
            raise_it=f"{command} --quota-code {applied.code} --region {region.name} --desired-value {{}}",
        )
    )
