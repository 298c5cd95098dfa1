"""Conversion of AWS's state to the hypervisor's world."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lab.desired import Peering, Route
from tests.lab.cloud.aws.site import Site, client, until


def route(site: Site, table: str, destination: str, **target: str) -> None:
    site.ec2.create_route(RouteTableId=table, DestinationCidrBlock=destination, **target)


def test_networks_routes_and_egress(site: Site) -> None:
    ec2 = site.ec2
    ec2.create_tags(Resources=[site.vpc], Tags=[{"Key": "Name", "Value": "home"}])
    ec2.associate_vpc_cidr_block(VpcId=site.vpc, CidrBlock="127.11.0.0/16")
    internet = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=internet, VpcId=site.vpc)
    public = ec2.create_subnet(VpcId=site.vpc, CidrBlock="127.9.1.0/24")["Subnet"]["SubnetId"]
    address = ec2.allocate_address(Domain="vpc")
    nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address["AllocationId"])["NatGateway"]["NatGatewayId"]
    away = client("ec2", "eu-west-1").create_vpc(CidrBlock="127.10.0.0/16")["Vpc"]["VpcId"]
    peering = ec2.create_vpc_peering_connection(VpcId=site.vpc, PeerVpcId=away, PeerRegion="eu-west-1")
    link = peering["VpcPeeringConnection"]["VpcPeeringConnectionId"]
    gateway = ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    ec2.attach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    table = ec2.create_route_table(VpcId=site.vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table, SubnetId=site.subnet)
    route(site, table, "0.0.0.0/0", NatGatewayId=nat)
    route(site, table, "127.10.0.0/16", VpcPeeringConnectionId=link)
    route(site, table, "127.12.0.0/16", GatewayId=gateway)

    def subnet() -> tuple[Route, ...]:
        """Return the subnet's routes; none before the hypervisor has received the subnet."""
        subnets = (one for network in site.live.hypervisor.world.networks for one in network.subnets)
        return next((one.routes for one in subnets if one.name == site.subnet), ())

    vpn = Route(destination=IPv4Network("127.12.0.0/16"), via=gateway)
    until(lambda: subnet() == (vpn,))
    client("ec2", "eu-west-1").accept_vpc_peering_connection(VpcPeeringConnectionId=link)
    until(lambda: subnet() == (Route(destination=IPv4Network("127.10.0.0/16"), via=link), vpn))
    world = site.live.hypervisor.world
    assert world.peerings == (Peering(id=link, first=site.vpc, second=away),)
    home = next(one for one in world.networks if one.id == site.vpc)
    assert (home.name, home.ranges) == ("home", (IPv4Network("127.9.0.0/16"), IPv4Network("127.11.0.0/16")))
    egress = {one.name: one.egress for one in home.subnets}
    assert egress == {site.subnet: (IPv4Address(address["PublicIp"]),), public: ()}


def test_a_machine(site: Site) -> None:
    ec2 = site.ec2
    permission = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 23}
    ec2.authorize_security_group_ingress(
        GroupId=site.group, IpPermissions=[{**permission, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}]
    )
    peers = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": site.group}]}
    ec2.authorize_security_group_ingress(GroupId=site.group, IpPermissions=[peers])
    site.pool(1)
    (machine,) = until(lambda: site.live.hypervisor.world.machines)
    (instance,) = site.instances()
    assert (machine.id, machine.name) == (instance["InstanceId"], instance["InstanceId"])
    assert (machine.network, machine.address) == (site.vpc, IPv4Interface("127.9.64.4/24"))
    assert machine.routed == (IPv4Network("127.9.64.16/28"),)
    assert (machine.image, machine.user_data) == ("node-1.0.0", b"#cloud-config\n")
    assert machine.local_ssd_gib == 220, "237 GB"
    inbound = [rule for rule in machine.rules if rule.direction == "in"]
    assert [(rule.allow, rule.protocol, rule.sources, rule.ports) for rule in inbound] == [
        (True, "tcp", (IPv4Network("10.0.0.0/8"),), ((22, 23),)),
        (True, "any", (IPv4Network("127.9.64.4"), IPv4Network("127.9.64.16/28")), ()),
        (False, "any", (), ()),
    ]
    outbound = [rule for rule in machine.rules if rule.direction == "out"]
    assert [(rule.allow, rule.destinations) for rule in outbound] == [(True, ()), (False, ())]


def test_the_default_network_is_nobodys(site: Site) -> None:
    until(lambda: site.live.hypervisor.world.networks)
    assert [network.id for network in site.live.hypervisor.world.networks] == [site.vpc]


@pytest.mark.parametrize(
    "permission",
    [
        {"IpProtocol": "50", "IpRanges": [{"CidrIp": "10.0.0.0/8"}]},
        {"IpProtocol": "-1", "Ipv6Ranges": [{"CidrIpv6": "::/0"}]},
        {"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-1"}]},
    ],
)
def test_what_cannot_be_a_rule_is_refused(site: Site, permission: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="UnsupportedParameter"):
        site.ec2.authorize_security_group_ingress(GroupId=site.group, IpPermissions=[permission])
