"""Findings about existing parts that the environment names."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws import doctor as aws_doctor
from clouds.aws import named_parts as in_aws
from clouds.aws.reader import AwsReader
from clouds.azure import doctor as azure_doctor
from clouds.azure import named_parts as in_azure
from clouds.base.findings import NotAllowedError, Severity
from tests.longhaul.doctor.world import (
    FILE,
    GATEWAY,
    INTERNET,
    NETWORKING,
    ROOT,
    SUBNET,
    SUBSCRIPTION,
    TABLE,
    VPC,
    Manager,
    Sdk,
    named_environment,
    severities,
    share,
)

NETWORK = f"{NETWORKING}/virtualNetworks/vnet"
GROUP = f"{ROOT}/resourcegroups/rg"


def network(prefixes: list[str], api: str, *, location: str = "westeurope") -> dict[str, Any]:
    endpoints = [{"service": "Microsoft.KeyVault", "provisioningState": "Succeeded"}]
    own = {"name": "snet-api", "properties": {"addressPrefix": api, "serviceEndpoints": endpoints, "delegations": []}}
    properties = {"addressSpace": {"addressPrefixes": prefixes}, "subnets": [own]}
    return {"id": NETWORK, "name": "vnet", "location": location, "properties": properties}


def has_all(manager: Manager, *, api: str = "10.64.3.0/24", kind: str = "RouteBased") -> None:
    """Give Azure everything that is named."""
    manager.has(GROUP, {"name": "rg"})
    manager.has(NETWORK, network(["10.64.0.0/16"], api))
    manager.has(f"{NETWORKING}/privateDnsZones/dev.longhaul.internal", {"name": "dev.longhaul.internal"})
    instances = []
    for index in (1, 2):
        address = f"{NETWORKING}/publicIPAddresses/vgw-{index}"
        manager.has(address, {"id": address, "properties": {"ipAddress": f"20.30.40.5{index}"}})
        subnet = {"id": f"{NETWORK}/subnets/GatewaySubnet"}
        instances.append({"name": str(index), "properties": {"publicIPAddress": {"id": address}, "subnet": subnet}})
    told = {"gatewayType": "Vpn", "vpnType": kind, "sku": {"name": "VpnGw2AZ"}, "ipConfigurations": instances}
    manager.has(f"{NETWORKING}/virtualNetworkGateways/vgw", {"name": "vgw", "properties": told})


def azure(manager: Manager) -> dict[str, tuple[Severity, str]]:
    """Return severity and words by the end of the key."""
    found = in_azure.named_parts(share("azure", named_environment()), manager.reader(), "weu")
    return {one.where[0].removeprefix("sites.weu.existing."): (one.severity, one.what) for one in found}


def test_what_fits_in_azure_is_well(manager: Manager) -> None:
    has_all(manager)
    found = azure(manager)
    assert {severity for severity, _ in found.values()} == {Severity.OK}
    keys = ("resource_group", "network", "dns_zone", "vpn_gateway")
    assert tuple(found) == tuple(f"{key} in {FILE}" for key in keys)


def test_what_does_not_fit_in_azure_is_a_problem_with_its_key(manager: Manager) -> None:
    has_all(manager, api="10.64.3.0/25", kind="PolicyBased")
    found = azure(manager)
    severity, said = found[f"network in {FILE}"]
    assert severity is Severity.PROBLEM
    assert said.startswith("the network vnet: its subnet snet-api, named for api, has 10.64.3.0/25, and the address")
    severity, said = found[f"vpn_gateway in {FILE}"]
    assert severity is Severity.PROBLEM
    assert said.startswith("the VPN gateway vgw: it is Vpn, PolicyBased; only route-based")


def test_what_azure_does_not_have_is_a_problem(manager: Manager) -> None:
    found = azure(manager)
    assert {severity for severity, _ in found.values()} == {Severity.PROBLEM}
    assert found[f"dns_zone in {FILE}"][1] == "the DNS zone dev.longhaul.internal does not exist"


def test_what_may_not_be_looked_at_is_no_verdict(manager: Manager) -> None:
    manager.has(GROUP, {"name": "rg"})
    manager.refused[NETWORK.lower()] = (403, "AuthorizationFailed")
    with pytest.raises(NotAllowedError, match="AuthorizationFailed"):
        azure(manager)


def test_a_named_network_does_not_overlap_its_own_plan(manager: Manager, sdk: Sdk) -> None:
    named = named_environment()
    manager.lists(f"{ROOT}/providers/Microsoft.Network/virtualNetworks", network(["10.64.0.0/16"], "10.64.3.0/24"))
    sdk.says("ec2", "describe_vpcs", {"Vpcs": [{"VpcId": VPC, "CidrBlock": "10.65.0.0/16"}]}, {})
    found = [
        *azure_doctor.addresses(share("azure", named), manager.reader(), SUBSCRIPTION),
        *aws_doctor.addresses(share("aws", named), AwsReader(sdk), "us-east-1"),
    ]
    assert {finding.severity for finding in found} == {Severity.OK}


def tells(
    sdk: Sdk,
    *,
    block: str = "10.65.0.0/16",
    range_: str = "10.65.128.0/19",
    associated: str = SUBNET,
    attached: str = "attached",
) -> None:
    """Prepare EC2's answers about everything that is named."""

    def describes(what: str, filter_: str, id_: str, answer: dict[str, Any]) -> None:
        expected = {"Filters": [{"Name": filter_, "Values": [id_]}]}
        sdk.says("ec2", f"describe_{what}", {what.title().replace("_", ""): [answer] if answer else []}, expected)

    associations = [{"RouteTableAssociationId": "rtbassoc-0", "SubnetId": associated, "Main": False}]
    subnet = {"SubnetId": SUBNET, "VpcId": VPC, "CidrBlock": range_, "AvailabilityZone": "us-east-1a"}
    describes("vpcs", "vpc-id", VPC, {"VpcId": VPC, "CidrBlock": block})
    describes("subnets", "subnet-id", SUBNET, subnet)
    describes("route_tables", "route-table-id", TABLE, {"RouteTableId": TABLE, "Associations": associations})
    attachments = [{"VpcId": VPC, "State": "available"}]
    describes("internet_gateways", "internet-gateway-id", INTERNET, {"Attachments": attachments})
    states = [{"VpcId": VPC, "State": attached}] if attached else []
    describes("vpn_gateways", "vpn-gateway-id", GATEWAY, {"VpcAttachments": states})


def aws(sdk: Sdk) -> list[tuple[str, str]]:
    return severities(list(in_aws.named_parts(share("aws", named_environment()), AwsReader(sdk), "use1")))


def test_what_fits_in_aws_is_well(sdk: Sdk) -> None:
    tells(sdk)
    found = aws(sdk)
    assert {severity for severity, _ in found} == {"ok"}
    assert len(found) == 5


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            {"block": "10.65.0.0/17"},
            f"the VPC {VPC}: its ranges, 10.65.0.0/17, do not contain 10.65.0.0/16, the site's",
        ),
        ({"range_": "10.65.160.0/19"}, f"the subnet {SUBNET}: it has 10.65.160.0/19, and the address plan"),
        ({"associated": "subnet-1"}, f"the route table {TABLE}: {SUBNET} is not associated with it"),
        ({"attached": "detaching"}, f"the VPN gateway {GATEWAY}: it is attached to no VPC, not to {VPC}"),
        ({"attached": ""}, f"the VPN gateway {GATEWAY}: it is attached to no VPC, not to {VPC}"),
    ],
)
def test_what_does_not_fit_in_aws_is_a_problem(sdk: Sdk, answer: dict[str, str], says: str) -> None:
    tells(sdk, **answer)
    (problem,) = [what for severity, what in aws(sdk) if severity == "problem"]
    assert problem.startswith(says)


def test_what_aws_does_not_have_is_a_problem(sdk: Sdk) -> None:
    for what in ("vpcs", "subnets", "route_tables", "internet_gateways", "vpn_gateways"):
        sdk.says("ec2", f"describe_{what}", {what.title().replace("_", ""): []})
    assert ("problem", f"the route table {TABLE} does not exist") in aws(sdk)


def test_credentials_of_another_account_than_the_file_says_are_a_problem(sdk: Sdk) -> None:
    caller = {"Account": "210987654321", "Arn": "arn:aws:iam::210987654321:user/me", "UserId": "AIDAEXAMPLE"}
    sdk.says("sts", "get_caller_identity", caller, {})
    (found,) = aws_doctor.credentials(share("aws", named_environment()), AwsReader(sdk))
    assert found.severity is Severity.PROBLEM
    assert found.what == "AWS: the credentials are of the account 210987654321, the file says 123456789012"
    assert found.where == (f"sites.use1.account in {FILE}",)
