"""Quotas and machine types of AWS. botocore's stub refuses requests and answers that its service models do not have."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws.offers import offers
from clouds.aws.quotas import (
    ADDRESSES,
    BLOCKS,
    CONNECTIONS,
    GATEWAY_ADDRESSES,
    REGION_CONNECTIONS,
    STANDARD,
    VPCS,
    quota_names,
)
from clouds.aws.quotas import quotas as looked_at
from clouds.aws.reader import AwsReader
from clouds.base.findings import Finding, NotAllowedError, Severity
from tests.longhaul.doctor.world import FILE, GATEWAY, Sdk, named_environment, raw_environment, severities, share

STANDARD_QUOTA = f"Running On-Demand {STANDARD} instances"
OURS = [{"Key": "longhaul-environment", "Value": "dev"}]


@pytest.mark.parametrize(
    ("machine_type", "spot", "first"),
    [
        ("m7i.4xlarge", False, STANDARD_QUOTA),
        ("i4i.2xlarge", True, f"All {STANDARD} Spot Instance Requests"),
        ("p5.48xlarge", False, "Running On-Demand P instances"),
        ("p5.48xlarge", True, "All P Spot Instance Requests"),
        ("p6-b200.48xlarge", True, "All P Spot Instance Requests"),
        ("g5.xlarge", True, "All G and VT Spot Instance Requests"),
        ("trn1.32xlarge", False, "Running On-Demand Trn instances"),
        ("hpc7a.96xlarge", False, None),
        ("mac2.metal", False, None),
    ],
)
def test_the_quota_of_a_type(machine_type: str, spot: bool, first: str | None) -> None:
    assert next(iter(quota_names(machine_type, spot=spot)), None) == first


def quota(name: str, code: str, value: float) -> dict[str, Any]:
    return {"ServiceCode": "ec2", "QuotaName": name, "QuotaCode": code, "Value": value}


def quotas(
    sdk: Sdk,
    *,
    cores: float = 64,
    vpcs: float = 5,
    running: list[Any] | None = None,
    raw: Any = None,
    connections: Any = (),
) -> dict[str, Finding]:
    """Return the findings by the quota's name; the pool takes 4 to 40 cores, the site three connections."""
    lists = [
        quota(STANDARD_QUOTA, "L-1216C47A", cores),
        quota(ADDRESSES, "L-0263D0A3", 5),
        quota(CONNECTIONS, "L-B91E5754", 10),
        quota(REGION_CONNECTIONS, "L-3E6EC3A3", 50),
    ]
    sdk.says(
        "service-quotas", "list_service_quotas", {"Quotas": lists[:1], "NextToken": "more"}, {"ServiceCode": "ec2"}
    )
    more = {"ServiceCode": "ec2", "NextToken": "more"}
    sdk.says("service-quotas", "list_service_quotas", {"Quotas": lists[1:]}, more)
    lists = [quota(VPCS, "L-F678F1CE", vpcs), quota(BLOCKS, "L-83CA0A9D", 5), quota(GATEWAY_ADDRESSES, "L-5F53652F", 2)]
    sdk.says("service-quotas", "list_service_quotas", {"Quotas": lists}, {"ServiceCode": "vpc"})
    instances = running or []
    sdk.says("ec2", "describe_instances", {"Reservations": [{"Instances": instances}]})
    if instances:
        kinds = [{"InstanceType": "m7i.4xlarge", "VCpuInfo": {"DefaultVCpus": 16}}]
        sdk.says("ec2", "describe_instance_types", {"InstanceTypes": kinds})
    address = {"AllocationId": "eipalloc-1", "PublicIp": "192.0.2.1"}
    sdk.says("ec2", "describe_addresses", {"Addresses": [address, {**address, "Tags": OURS}]}, {})
    sdk.says("ec2", "describe_vpcs", {"Vpcs": [{"VpcId": "vpc-1"}, {"VpcId": "vpc-2", "Tags": OURS}]}, {})
    sdk.says("ec2", "describe_vpn_connections", {"VpnConnections": list(connections)}, {})
    found = looked_at(share("aws", raw), AwsReader(sdk), "us-east-1")
    return {finding.what.partition(": ")[0]: finding for finding in found}


CORES = f"AWS us-east-1, {STANDARD_QUOTA} (L-1216C47A)"


def test_quotas_that_suffice_are_well(sdk: Sdk) -> None:
    found = quotas(sdk)
    assert {finding.severity for finding in found.values()} == {Severity.OK}
    assert found[CORES].what.endswith("64 vCPUs, 0 in use by others; the environment takes 4 to 40")
    assert "1 in use by others; the environment takes 2" in found[f"AWS us-east-1, {ADDRESSES} (L-0263D0A3)"].what


def test_what_others_use_counts_and_our_own_does_not(sdk: Sdk) -> None:
    other = {"InstanceId": "i-1", "InstanceType": "m7i.4xlarge"}
    spot = {**other, "InstanceLifecycle": "spot"}
    found = quotas(sdk, running=[other, other, {**other, "Tags": OURS}, spot])[CORES]
    assert found.severity is Severity.WARNING
    assert "64 vCPUs, 32 in use by others; the environment takes 4 to 40" in found.what
    assert found.do == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-1216C47A "
        "--region us-east-1 --desired-value 72"
    )


def test_vpn_connections_are_counted(sdk: Sdk) -> None:
    """Others' count too on a gateway that the file names; deleted ones and our own do not."""
    other = {"VpnConnectionId": "vpn-1", "VpnGatewayId": GATEWAY, "State": "available"}
    connections = [*[other] * 9, {**other, "VpnGatewayId": "vgw-2"}]
    connections += [{**other, "State": "deleted"}, {**other, "Tags": OURS}]
    here, everywhere = f"AWS us-east-1, {CONNECTIONS} (L-B91E5754)", f"AWS us-east-1, {REGION_CONNECTIONS} (L-3E6EC3A3)"
    found = quotas(sdk, connections=connections)
    assert found[here].severity is Severity.OK
    assert "10 connections, 0 in use by others; the environment takes 2" in found[here].what
    assert "50 connections, 10 in use by others; the environment takes 2" in found[everywhere].what
    found = quotas(sdk, connections=connections, raw=named_environment())
    assert found[here].severity is Severity.PROBLEM
    assert "10 connections, 9 in use by others; the environment takes 3" in found[here].what
    assert found[here].where == (f"sites.use1 in {FILE}",)


def test_a_site_of_more_ranges_than_aws_gives_unasked_is_a_problem(sdk: Sdk) -> None:
    raw = raw_environment() | {"supernet": "10.0.0.0/8"}
    raw["sites"]["use1"] |= {"prefix": 13}
    found = quotas(sdk, raw=raw)[f"AWS us-east-1, {BLOCKS} (L-83CA0A9D)"]
    assert found.severity is Severity.PROBLEM
    assert "5 ranges, 0 in use by others; the environment takes 8" in found.what
    assert found.do == (
        "aws service-quotas request-service-quota-increase --service-code vpc --quota-code L-83CA0A9D "
        "--region us-east-1 --desired-value 8"
    )


def test_a_large_zone_needs_more_addresses_than_aws_gives_unasked(sdk: Sdk) -> None:
    raw = raw_environment()
    raw["pools"]["cpu"] |= {"max": 480, "zones": ["a"]}
    found = quotas(sdk, raw=raw)
    addresses = found[f"AWS us-east-1, {GATEWAY_ADDRESSES} (L-5F53652F)"]
    assert addresses.severity is Severity.PROBLEM
    assert "2 addresses, 0 in use by others; the environment takes 3" in addresses.what
    assert addresses.do.endswith("--service-code vpc --quota-code L-5F53652F --region us-east-1 --desired-value 3")
    assert "the environment takes 4" in found[f"AWS us-east-1, {ADDRESSES} (L-0263D0A3)"].what


def test_too_little_for_every_minimum_is_a_problem(sdk: Sdk) -> None:
    found = quotas(sdk, cores=0, vpcs=1)
    assert found[CORES].severity is Severity.PROBLEM
    assert found[CORES].where == (f"pools.cpu in {FILE}",)
    vpc = found[f"AWS us-east-1, {VPCS} (L-F678F1CE)"]
    assert vpc.severity is Severity.PROBLEM
    assert "--service-code vpc" in vpc.do


def test_who_may_not_see_quotas_is_told_the_action(sdk: Sdk) -> None:
    sdk.refuses("service-quotas", "list_service_quotas", "AccessDeniedException")
    with pytest.raises(NotAllowedError) as raised:
        list(looked_at(share("aws"), AwsReader(sdk), "us-east-1"))
    assert raised.value.do == "allow servicequotas:ListServiceQuotas"


def types(sdk: Sdk, *zones: str, vcpus: int = 4, available: str = "ab") -> list[Finding]:
    names = [{"ZoneName": f"us-east-1{letter}", "State": "available"} for letter in available]
    sdk.says("ec2", "describe_availability_zones", {"AvailabilityZones": names}, {})
    offered = [{"InstanceType": "m6id.xlarge", "LocationType": "availability-zone", "Location": zone} for zone in zones]
    sdk.says(
        "ec2",
        "describe_instance_type_offerings",
        {"InstanceTypeOfferings": offered},
        {"LocationType": "availability-zone", "Filters": [{"Name": "instance-type", "Values": ["m6id.xlarge"]}]},
    )
    if zones:
        kinds = [{"InstanceType": "m6id.xlarge", "VCpuInfo": {"DefaultVCpus": vcpus}}]
        sdk.says("ec2", "describe_instance_types", {"InstanceTypes": kinds})
    return list(offers(share("aws"), AwsReader(sdk), "use1"))


def test_a_type_in_every_zone_is_well(sdk: Sdk) -> None:
    assert severities(types(sdk, "us-east-1a", "us-east-1b")) == [
        ("ok", "m6id.xlarge is offered in us-east-1a, us-east-1b")
    ]


def test_a_type_in_some_zones_is_a_warning(sdk: Sdk) -> None:
    (found,) = types(sdk, "us-east-1a", "us-east-1f")
    assert found.severity is Severity.WARNING
    assert "not offered in us-east-1b" in found.what


@pytest.mark.parametrize("zones", [(), ("us-east-1f",)])
def test_a_type_in_no_zone_is_a_problem(sdk: Sdk, zones: tuple[str, ...]) -> None:
    (found,) = types(sdk, *zones)
    assert found.severity is Severity.PROBLEM
    assert found.what.endswith("; it is in us-east-1f" if zones else "us-east-1b")


def test_other_cores_and_other_zones_are_problems(sdk: Sdk) -> None:
    zone, _, cores = types(sdk, "us-east-1a", "us-east-1b", vcpus=8, available="a")
    assert zone.what == "not available to this account: us-east-1b"
    assert zone.where == (f"sites.use1.zones in {FILE}",)
    assert cores.what == "m6id.xlarge has 8 vCPUs, not 4"


def test_older_names_of_p_are_known() -> None:
    assert quota_names("p5en.48xlarge", spot=True)[1:] == ("All P5 Spot Instance Requests",)
    assert quota_names("p4d.24xlarge", spot=True)[1:] == ("All P4, P3 and P2 Spot Instance Requests",)
    assert quota_names("p6-b200.48xlarge", spot=True)[1:] == ()
