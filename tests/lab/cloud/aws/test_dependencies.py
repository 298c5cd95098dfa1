"""Resources in use cannot be deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

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
