"""Do AWS's zones have the machine types, and are these what Longhaul takes them for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.base.findings import Finding, ok, problem, warning
from longhaul.doctor.aws import Aws, asked
from longhaul.doctor.demand import Machines, machines
from longhaul.doctor.quotas_aws import instance_vcpus
from longhaul.doctor.subject import Subject


def aws(subject: Subject, client: Aws, site: str) -> Iterator[Finding]:
    """The zones of one site (EC2's ``DescribeAvailabilityZones``), the types that each of them offers
    (``DescribeInstanceTypeOfferings`` by zone), and their cores (``DescribeInstanceTypes``)."""
    region, ec2 = subject.aws()[site].region, client.client("ec2", subject.aws()[site].region)
    zones = tuple(f"{region}{letter}" for letter in subject.aws()[site].zones)
    missing = sorted(set(zones) - _zones(ec2))
    if missing:
        do = "zones that `aws ec2 describe-availability-zones` shows as available"
        yield problem(f"not available to this account: {', '.join(missing)}", subject.at("sites", site, "zones"), do=do)
    wanted = tuple(one for one in machines(subject.environment) if one.site == site)
    offered = _offered(ec2, sorted({one.machine_type for one in wanted}))
    vcpus = instance_vcpus(ec2, {one.machine_type for one in wanted if offered.get(one.machine_type)})
    for one in wanted:
        yield _judged(subject, one, zones, offered.get(one.machine_type, set()))
    for name in sorted({one.machine_type for one in wanted}):
        yield from cores_differ(subject, name, vcpus.get(name))


def cores_differ(subject: Subject, machine_type: str, vcpus: int | None) -> Iterator[Finding]:
    """Whether the cloud says other cores of a type than the address and capacity plans count with."""
    known = subject.environment.machine_type(machine_type).vcpus
    if vcpus not in (None, known):
        key = subject.at("machine_types", machine_type, "vcpus")
        yield problem(f"{machine_type} has {vcpus} vCPUs, not {known}", key, do=f"vcpus: {vcpus}")


def _judged(subject: Subject, one: Machines, zones: tuple[str, ...], offered: set[str]) -> Finding:
    key = subject.at(*one.key)
    here = [zone for zone in zones if zone in offered]
    if not here:
        others = f"; it is in {', '.join(sorted(offered))}" if offered else ""
        do = "another type, or zones that have it, or another region"
        return problem(f"{one.machine_type} is offered in none of {', '.join(zones)}{others}", key, do=do)
    if len(here) < len(zones):
        without = ", ".join(zone for zone in zones if zone not in offered)
        what = (
            f"{one.machine_type} is not offered in {without}: all of the pool's machines will be in {', '.join(here)}"
        )
        return warning(what, key, do="nothing, if that is enough; otherwise another type, or other zones")
    return ok(f"{one.machine_type} is offered in {', '.join(zones)}", key)


def _zones(ec2: Any) -> set[str]:
    with asked("the zones", needs="ec2:DescribeAvailabilityZones"):
        found = ec2.describe_availability_zones()["AvailabilityZones"]
        return {str(zone["ZoneName"]) for zone in found if zone.get("State") == "available"}


def _offered(ec2: Any, types: list[str]) -> dict[str, set[str]]:
    """Zones by type."""
    found: dict[str, set[str]] = {}
    if not types:
        return found
    with asked("the machine types of each zone", needs="ec2:DescribeInstanceTypeOfferings"):
        pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]
        )
        for page in pages:
            for offering in page["InstanceTypeOfferings"]:
                found.setdefault(str(offering["InstanceType"]), set()).add(str(offering["Location"]))
    return found
