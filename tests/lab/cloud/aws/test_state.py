"""State that outlives the daemon."""

from __future__ import annotations

from tests.lab.cloud.aws.site import Site, client, until
from tests.lab.cloud.aws.test_vpn import connect, shown


def test_a_restart_changes_nothing(site: Site) -> None:
    site.reserve("127.9.64.16/28", "127.9.64.32/28")
    site.pool(1)
    gateway, connection = connect(site, "198.51.100.20")
    site.ec2.attach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    site.ec2.create_vpn_connection_route(VpnConnectionId=connection, DestinationCidrBlock="10.64.0.0/16")
    away = client("ec2", "eu-west-1").create_vpc(CidrBlock="127.10.0.0/16")["Vpc"]["VpcId"]
    until(lambda: len(site.live.hypervisor.world.networks) == 2)
    before, key = site.live.hypervisor.world, shown(site, connection)["Options"]["TunnelOptions"][0]["PreSharedKey"]
    site.live.stop()
    site.live.start()
    until(lambda: site.live.hypervisor.world == before)
    assert shown(site, connection)["Options"]["TunnelOptions"][0]["PreSharedKey"] == key
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=2)
    assert {one["PrivateIpAddress"] for one in site.instances()} == {"127.9.64.4", "127.9.64.5"}
    peering = site.ec2.create_vpc_peering_connection(VpcId=site.vpc, PeerVpcId=away, PeerRegion="eu-west-1")
    accepted = client("ec2", "eu-west-1").accept_vpc_peering_connection(
        VpcPeeringConnectionId=peering["VpcPeeringConnection"]["VpcPeeringConnectionId"]
    )
    assert accepted["VpcPeeringConnection"]["Status"]["Code"] == "active"


def test_what_was_ending_ends_after_a_restart(site: Site) -> None:
    import asyncio

    site.pool(1)
    until(lambda: site.live.hypervisor.world.machines)
    site.live.hypervisor.hold = asyncio.Event()
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=0)
    assert len(site.instances("shutting-down")) == 1
    site.live.stop()
    site.live.hypervisor.hold = None
    site.live.start()
    until(lambda: len(site.instances("terminated")) == 1)
