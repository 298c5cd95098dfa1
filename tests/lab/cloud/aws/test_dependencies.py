"""Resources in use cannot be deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lab.cloud.aws.quotas import GATEWAY_ADDRESSES
from tests.lab.cloud.aws.site import Site, until


def refused(code: str, action: Callable[..., Any], **given: Any) -> None:
    with pytest.raises(ClientError) as problem:
        action(**given)
    assert problem.value.response["Error"]["Code"] == code


def test_what_is_in_use_stays(site: Site) -> None:
    ec2 = site.ec2
    site.pool(1)
    refused("DependencyViolation", ec2.delete_subnet, SubnetId=site.subnet)
    refused("DependencyViolation", ec2.delete_security_group, GroupId=site.group)
    refused("DependencyViolation", ec2.delete_vpc, VpcId=site.vpc)
    gateway = ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    ec2.attach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    refused("IncorrectState", ec2.delete_vpn_gateway, VpnGatewayId=gateway)
    other = ec2.create_customer_gateway(Type="ipsec.1", BgpAsn=65000, IpAddress="198.51.100.20")["CustomerGateway"]
    connection = ec2.create_vpn_connection(
        Type="ipsec.1", CustomerGatewayId=other["CustomerGatewayId"], VpnGatewayId=gateway
    )["VpnConnection"]["VpnConnectionId"]
    refused("IncorrectState", ec2.delete_customer_gateway, CustomerGatewayId=other["CustomerGatewayId"])
    ec2.delete_vpn_connection(VpnConnectionId=connection)
    ec2.delete_customer_gateway(CustomerGatewayId=other["CustomerGatewayId"])
    ec2.detach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    ec2.delete_vpn_gateway(VpnGatewayId=gateway)
    site.scaling.delete_auto_scaling_group(AutoScalingGroupName="pool", ForceDelete=True)
    until(lambda: site.ec2.describe_network_interfaces()["NetworkInterfaces"] == [])
    ec2.delete_security_group(GroupId=site.group)
    ec2.delete_subnet(SubnetId=site.subnet)
    ec2.delete_vpc(VpcId=site.vpc)
    until(lambda: site.live.hypervisor.world.networks == ())


def test_a_nat_gateway_frees_its_addresses(site: Site) -> None:
    ec2 = site.ec2
    internet = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=internet, VpcId=site.vpc)
    address = ec2.allocate_address(Domain="vpc")
    nat = ec2.create_nat_gateway(SubnetId=site.subnet, AllocationId=address["AllocationId"])["NatGateway"]
    assert nat["NatGatewayAddresses"][0]["PrivateIp"] == "127.9.64.4"
    refused("InvalidIPAddress.InUse", ec2.release_address, AllocationId=address["AllocationId"])
    refused("DependencyViolation", ec2.detach_internet_gateway, InternetGatewayId=internet, VpcId=site.vpc)
    ec2.delete_nat_gateway(NatGatewayId=nat["NatGatewayId"])
    ec2.release_address(AllocationId=address["AllocationId"])
    ec2.detach_internet_gateway(InternetGatewayId=internet, VpcId=site.vpc)
    ec2.delete_subnet(SubnetId=site.subnet)


def test_addresses_of_a_nat_gateway_come_and_go(site: Site) -> None:
    """The first stays as long as its gateway; the number has a quota."""
    ec2 = site.ec2
    first, second, third = (ec2.allocate_address(Domain="vpc")["AllocationId"] for _ in range(3))
    made = ec2.create_nat_gateway(SubnetId=site.subnet, AllocationId=first, SecondaryAllocationIds=[second])
    nat = made["NatGateway"]["NatGatewayId"]

    def entries() -> dict[str, dict[str, Any]]:
        (gateway,) = ec2.describe_nat_gateways()["NatGateways"]
        return {entry["AllocationId"]: entry for entry in gateway["NatGatewayAddresses"]}

    assert {id_: entry["IsPrimary"] for id_, entry in entries().items()} == {first: True, second: False}
    assert [entry["PrivateIp"] for entry in entries().values()] == ["127.9.64.4", "127.9.64.5"]
    associate, disassociate = ec2.associate_nat_gateway_address, ec2.disassociate_nat_gateway_address
    refused("Resource.AlreadyAssociated", associate, NatGatewayId=nat, AllocationIds=[second])
    refused("AddressLimitExceeded", associate, NatGatewayId=nat, AllocationIds=[third])
    site.live.call(set_quota(site))
    associate(NatGatewayId=nat, AllocationIds=[third])
    assert entries().keys() == {first, second, third}
    primary = entries()[first]["AssociationId"]
    refused("InvalidParameterValue", disassociate, NatGatewayId=nat, AssociationIds=[primary])
    refused("InvalidIPAddress.InUse", ec2.release_address, AllocationId=second)
    disassociate(NatGatewayId=nat, AssociationIds=[entries()[second]["AssociationId"]])
    ec2.release_address(AllocationId=second)
    assert entries().keys() == {first, third}
    ec2.delete_nat_gateway(NatGatewayId=nat)
    for left in (first, third):
        ec2.release_address(AllocationId=left)


async def set_quota(site: Site) -> None:
    site.live.cloud.aws.set_quota(GATEWAY_ADDRESSES.name, "us-east-1", 3)
