"""VPN connections."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
from botocore.exceptions import ClientError

from clouds.aws.quotas import ADDRESSES, REGION_CONNECTIONS
from components.onprem.vpn import ESP_PROPOSAL, IKE_PROPOSAL
from lab.cloud.aws.addresses import RANGE
from lab.desired import TunnelState
from tests.lab.cloud.aws.site import Site, client, until

SUITE: dict[str, Any] = {
    **{f"Phase{phase}EncryptionAlgorithms": [{"Value": "AES256-GCM-16"}] for phase in (1, 2)},
    **{f"Phase{phase}IntegrityAlgorithms": [{"Value": "SHA2-384"}] for phase in (1, 2)},
    **{f"Phase{phase}DHGroupNumbers": [{"Value": 20}] for phase in (1, 2)},
    "IKEVersions": [{"Value": "ikev2"}],
    "DPDTimeoutSeconds": 30,
    "StartupAction": "start",
}


def connect(site: Site, remote: str, *, gateway: str = "") -> tuple[str, str]:
    gateway = gateway or site.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    other = site.ec2.create_customer_gateway(Type="ipsec.1", BgpAsn=65000, IpAddress=remote)["CustomerGateway"]
    made = site.ec2.create_vpn_connection(
        Type="ipsec.1",
        CustomerGatewayId=other["CustomerGatewayId"],
        VpnGatewayId=gateway,
        Options={
            "StaticRoutesOnly": True,
            "LocalIpv4NetworkCidr": "10.64.0.0/16",
            "RemoteIpv4NetworkCidr": "127.9.0.0/16",
            "TunnelOptions": [SUITE, {**SUITE, "PreSharedKey": "given.by_the_user"}],
        },
    )["VpnConnection"]
    return gateway, made["VpnConnectionId"]


def shown(site: Site, connection: str) -> dict[str, Any]:
    found: dict[str, Any] = site.ec2.describe_vpn_connections(VpnConnectionIds=[connection])["VpnConnections"][0]
    return found


def test_tunnels_are_each_their_own(site: Site) -> None:
    _, first = connect(site, "198.51.100.20")
    _, second = connect(site, "198.51.100.21")
    tunnels = [tunnel for one in (first, second) for tunnel in shown(site, one)["Options"]["TunnelOptions"]]
    assert len({tunnel["OutsideIpAddress"] for tunnel in tunnels}) == 4
    assert len({tunnel["TunnelInsideCidr"] for tunnel in tunnels}) == 4
    keys = [tunnel["PreSharedKey"] for tunnel in tunnels]
    assert keys[1] == keys[3] == "given.by_the_user"
    assert keys[0] != keys[2]
    assert len(keys[0]) == 32
    document = ElementTree.fromstring(shown(site, first)["CustomerGatewayConfiguration"])
    addresses = [one.findtext("vpn_gateway/tunnel_outside_address/ip_address") for one in document.iter("ipsec_tunnel")]
    assert addresses == [tunnel["OutsideIpAddress"] for tunnel in tunnels[:2]]
    remote = {
        one.findtext("customer_gateway/tunnel_outside_address/ip_address") for one in document.iter("ipsec_tunnel")
    }
    assert remote == {"198.51.100.20"}


def test_one_tunnel_gets_another_key_and_the_rest_stays(site: Site) -> None:
    _, connection = connect(site, "198.51.100.20")
    first, second = shown(site, connection)["Options"]["TunnelOptions"]

    def change(address: str, **options: Any) -> None:
        site.ec2.modify_vpn_tunnel_options(
            VpnConnectionId=connection, VpnTunnelOutsideIpAddress=address, TunnelOptions=options
        )

    change(second["OutsideIpAddress"], PreSharedKey="another.key")
    now = shown(site, connection)
    assert now["Options"]["TunnelOptions"] == [first, {**second, "PreSharedKey": "another.key"}]
    keys = [one.text for one in ElementTree.fromstring(now["CustomerGatewayConfiguration"]).iter("pre_shared_key")]
    assert keys == [first["PreSharedKey"], "another.key"]
    for wrong, why in (
        ({"PreSharedKey": "0zero.first"}, "does not start with 0"),
        ({"StartupAction": "add"}, "a tunnel's key and"),
    ):
        with pytest.raises(ClientError, match=why):
            change(second["OutsideIpAddress"], **wrong)
    with pytest.raises(ClientError, match=r"has no tunnel at 198\.51\.100\.20"):
        change("198.51.100.20", PreSharedKey="another.key")


async def set_quota(site: Site, name: str, value: int) -> None:
    site.live.cloud.aws.set_quota(name, "us-east-1", value)


def test_quotas_are_awss_defaults(site: Site) -> None:
    def addresses() -> int:
        return len(site.ec2.describe_addresses()["Addresses"])

    for _ in range(5):
        site.ec2.allocate_address(Domain="vpc")
    with pytest.raises(ClientError, match=r"AddressLimitExceeded.*maximum number of addresses"):
        site.ec2.allocate_address(Domain="vpc")
    client("ec2", "eu-west-1").allocate_address(Domain="vpc")
    site.live.call(set_quota(site, ADDRESSES, 6))
    site.ec2.allocate_address(Domain="vpc")
    assert addresses() == 6
    gateway, _ = connect(site, "198.51.100.20")
    for last in range(21, 30):
        connect(site, f"198.51.100.{last}", gateway=gateway)
    with pytest.raises(ClientError, match="VpnConnectionLimitExceeded"):
        connect(site, "198.51.100.30", gateway=gateway)
    made = site.ec2.describe_vpn_connections()["VpnConnections"]
    assert len(made) == 10
    site.ec2.delete_vpn_connection(VpnConnectionId=made[0]["VpnConnectionId"])
    connect(site, "198.51.100.30", gateway=gateway)
    site.live.call(set_quota(site, REGION_CONNECTIONS, 10))
    with pytest.raises(ClientError, match="VpnConnectionLimitExceeded"):
        connect(site, "198.51.100.31")


def test_public_addresses_are_unique(site: Site) -> None:
    """Addresses of tunnels and of NAT gateways, in all regions; a released address is given out again."""
    site.live.call(set_quota(site, ADDRESSES, RANGE.num_addresses))
    _, connection = connect(site, "198.51.100.20")
    taken = {one["OutsideIpAddress"] for one in shown(site, connection)["Options"]["TunnelOptions"]}
    made = [site.ec2.allocate_address(Domain="vpc") for _ in range(RANGE.num_addresses - 2)]
    given = {one["PublicIp"] for one in made}
    assert given | taken == {str(address) for address in RANGE}
    with pytest.raises(ClientError, match="InsufficientAddressCapacity"):
        site.ec2.allocate_address(Domain="vpc")
    site.ec2.release_address(AllocationId=made[0]["AllocationId"])
    assert site.ec2.allocate_address(Domain="vpc")["PublicIp"] == made[0]["PublicIp"]


def test_an_identical_customer_gateway_is_the_existing_one(site: Site) -> None:
    def made(**changes: Any) -> str:
        given = {"Type": "ipsec.1", "BgpAsn": 65000, "IpAddress": "198.51.100.20", **changes}
        return str(site.ec2.create_customer_gateway(**given)["CustomerGateway"]["CustomerGatewayId"])

    first = made()
    tags = [{"ResourceType": "customer-gateway", "Tags": [{"Key": "Name", "Value": "other"}]}]
    assert made(TagSpecifications=tags) == first, "tags tell none apart"
    others = {made(DeviceName="a"), made(DeviceName="b"), made(BgpAsn=65001), made(IpAddress="198.51.100.21")}
    assert len(others | {first}) == 5
    found = site.ec2.describe_customer_gateways(CustomerGatewayIds=[made(DeviceName="a")])["CustomerGateways"]
    assert [one["DeviceName"] for one in found] == ["a"]
    site.ec2.delete_customer_gateway(CustomerGatewayId=first)
    assert made() not in others | {first}, "a deleted one is not given again"


def test_the_world_has_the_tunnels_of_an_attached_gateway(site: Site) -> None:
    gateway, connection = connect(site, "198.51.100.20")
    site.ec2.attach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    until(lambda: site.live.hypervisor.world.gateways)
    assert site.live.hypervisor.world.gateways[0].tunnels == (), "without a route nothing goes into it"
    site.ec2.create_vpn_connection_route(VpnConnectionId=connection, DestinationCidrBlock="10.64.0.0/16")
    (made,) = until(lambda: [one for one in site.live.hypervisor.world.gateways if one.tunnels])
    options = shown(site, connection)["Options"]["TunnelOptions"]
    assert (made.id, made.network, len(made.tunnels)) == (gateway, site.vpc, 2)
    tunnel = made.tunnels[0]
    assert (tunnel.local, tunnel.remote) == (IPv4Address(options[0]["OutsideIpAddress"]), IPv4Address("198.51.100.20"))
    assert (tunnel.local_ranges, tunnel.remote_ranges) == (
        (IPv4Network("127.9.0.0/16"),),
        (IPv4Network("10.64.0.0/16"),),
    )
    assert (tunnel.ike_proposal, tunnel.esp_proposal) == (IKE_PROPOSAL, ESP_PROPOSAL)
    assert (tunnel.key, tunnel.dpd_s, tunnel.initiate) == (options[0]["PreSharedKey"], 30, True)
    site.ec2.delete_vpn_connection(VpnConnectionId=connection)
    until(lambda: not site.live.hypervisor.world.gateways[0].tunnels)


def test_telemetry_is_what_the_hypervisor_sees(site: Site) -> None:
    gateway, connection = connect(site, "198.51.100.20")
    site.ec2.create_vpn_connection_route(VpnConnectionId=connection, DestinationCidrBlock="10.64.0.0/16")
    down = shown(site, connection)
    assert [one["Status"] for one in down["VgwTelemetry"]] == ["DOWN", "DOWN"]
    assert down["Routes"] == [{"DestinationCidrBlock": "10.64.0.0/16", "Source": "Static", "State": "available"}]
    site.live.hypervisor.tunnels[gateway] = {f"{connection}-1": TunnelState(up=True, since=1700000000.0)}
    first, second = shown(site, connection)["VgwTelemetry"]
    assert (first["Status"], first["LastStatusChange"].timestamp(), first["AcceptedRouteCount"]) == ("UP", 1.7e9, 1)
    assert second["Status"] == "DOWN"


@pytest.mark.parametrize(
    "options",
    [{"PreSharedKey": "0starts_with_nought"}, {"PreSharedKey": "short"}, {"Phase1DHGroupNumbers": [{"Value": 1}]}],
)
def test_what_no_tunnel_can_have_is_refused(site: Site, options: dict[str, Any]) -> None:
    gateway = site.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    other = site.ec2.create_customer_gateway(Type="ipsec.1", BgpAsn=65000, IpAddress="198.51.100.20")["CustomerGateway"]
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        site.ec2.create_vpn_connection(
            Type="ipsec.1",
            CustomerGatewayId=other["CustomerGatewayId"],
            VpnGatewayId=gateway,
            Options={"TunnelOptions": [options]},
        )
    assert site.ec2.describe_vpn_connections()["VpnConnections"] == []
