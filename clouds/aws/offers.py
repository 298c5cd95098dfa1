"""Checks that AWS's zones offer the machine types, with the number of cores that Longhaul expects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.aws.quotas import instance_vcpus
from clouds.aws.reader import AwsReader, reader_errors
from clouds.aws.site import AwsSite
from clouds.base.doctor import CloudShare, MachineDemand, cores_differ
from clouds.base.findings import Finding, ok, problem, warning


def offers(share: CloudShare[AwsSite], reader: AwsReader, name: str) -> Iterator[Finding]:
    """Check a site's zones (EC2's ``DescribeAvailabilityZones``), the types that each of them offers
    (``DescribeInstanceTypeOfferings`` by zone), and their cores (``DescribeInstanceTypes``)."""
    site = share.places[name].site
    ec2 = reader.client("ec2", site.region)
    zones = tuple(f"{site.region}{letter}" for letter in site.zones)
    missing = sorted(set(zones) - _zones(ec2))
    if missing:
        do = "zones that `aws ec2 describe-availability-zones` shows as available"
        yield problem(f"not available to this account: {', '.join(missing)}", share.at("sites", name, "zones"), do=do)
    wanted = share.machines_in(name)
    offered = _offered(ec2, sorted({demand.machine_type for demand in wanted}))
    vcpus = instance_vcpus(ec2, {demand.machine_type for demand in wanted if offered.get(demand.machine_type)})
    for demand in wanted:
        allowed = tuple(zone for zone in zones if not demand.zones or zone.removeprefix(site.region) in demand.zones)
        yield _judged(share, demand, allowed, offered.get(demand.machine_type, set()))
    yield from cores_differ(share, wanted, vcpus)


def _judged(share: CloudShare[AwsSite], demand: MachineDemand, zones: tuple[str, ...], offered: set[str]) -> Finding:
    key = share.at(*demand.key)
    here = [zone for zone in zones if zone in offered]
    if not here:
        others = f"; it is in {', '.join(sorted(offered))}" if offered else ""
        do = "another type, or zones that have it, or another region"
        return problem(f"{demand.machine_type} is offered in none of {', '.join(zones)}{others}", key, do=do)
    if len(here) < len(zones):
        without = ", ".join(zone for zone in zones if zone not in offered)
        what = (
            f"{demand.machine_type} is not offered in {without}: "
            f"all of the pool's machines will be in {', '.join(here)}"
        )
        return warning(what, key, do="nothing, if that is enough; otherwise another type, or other zones")
    return ok(f"{demand.machine_type} is offered in {', '.join(zones)}", key)


def _zones(ec2: Any) -> set[str]:
    with reader_errors("the zones", needs="ec2:DescribeAvailabilityZones"):
        zones = ec2.describe_availability_zones()["AvailabilityZones"]
        return {str(zone["ZoneName"]) for zone in zones if zone.get("State") == "available"}


def _offered(ec2: Any, types: list[str]) -> dict[str, set[str]]:
    """Return the zones that offer each type."""
    zones: dict[str, set[str]] = {}
    if not types:
        return zones
    with reader_errors("the machine types of each zone", needs="ec2:DescribeInstanceTypeOfferings"):
        pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]
        )
        for page in pages:
            for offering in page["InstanceTypeOfferings"]:
                zones.setdefault(str(offering["InstanceType"]), set()).add(str(offering["Location"]))
    return zones
