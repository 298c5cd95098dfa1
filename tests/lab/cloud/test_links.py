"""Gateways, connections and peerings: what is refused, what becomes of them, what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from lab.desired import DesiredTunnel, Route, TunnelState
from tests.lab.cloud import estate, links
from tests.lab.cloud.conftest import GROUP, NETWORK, Live, running
from tests.lab.cloud.links import code

RACK = IPv4Network("10.66.0.0/16")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A cloud with a gateway and a connection, for tests that leave it as it is."""
    with running(tmp_path_factory.mktemp("linked") / "cloud") as found:
        links.build(found)
        yield found


def test_a_gateway_in_the_world(linked: Live) -> None:
    (gateway,) = linked.hypervisor.world.gateways
    assert (gateway.id, gateway.name, gateway.network) == (links.GATEWAY.lower(), "vpn", NETWORK.lower())
    assert gateway.addresses == (IPv4Address("198.51.100.66"), IPv4Address("198.51.100.67"))
    assert gateway.tunnels == tuple(
        DesiredTunnel(
            name=f"rack-{index}",
            local=address,
            remote=IPv4Address("198.51.100.20"),
            key=links.KEY,
            local_ranges=(IPv4Network("127.8.0.0/16"),),
            remote_ranges=(RACK,),
            ike_proposal="aes256gcm16-prfsha384-ecp384",
            esp_proposal="aes256gcm16-ecp384",
            ike_lifetime_s=28800,
            esp_lifetime_s=3600,
            dpd_s=30,
            initiate=True,
        )
        for index, address in enumerate(gateway.addresses)
    )


def test_every_subnet_learns_the_way_through_the_gateway(linked: Live) -> None:
    (network,) = linked.hypervisor.world.networks
    assert {subnet.name for subnet in network.subnets} == {"api", "GatewaySubnet"}
    for subnet in network.subnets:
        assert subnet.routes == (Route(destination=RACK, via=links.GATEWAY.lower()),)
    (machine,) = linked.hypervisor.world.machines
    (admitted,) = [rule for rule in machine.rules if rule.name == "AllowVNetInBound"]
    assert RACK in admitted.sources


def test_a_connection_tells_of_its_tunnels_and_never_its_key(linked: Live) -> None:
    def status() -> dict[str, Any]:
        return dict(linked.arm("GET", links.CONNECTION).json()["properties"])

    assert status()["connectionStatus"] == "Unknown"
    tunnels = {"rack-0": TunnelState(up=False), "rack-1": TunnelState(up=False), "other-0": TunnelState(up=True)}
    linked.hypervisor.tunnels[links.GATEWAY.lower()] = tunnels
    assert status()["connectionStatus"] == "Connecting"
    tunnels["rack-1"] = TunnelState(up=True, since=1e9, bytes_in=20, bytes_out=10)
    tunnels["rack-0"] = TunnelState(up=False, since=1e9, bytes_in=2, bytes_out=1)
    shown = status()
    assert (shown["connectionStatus"], shown["ingressBytesTransferred"], shown["egressBytesTransferred"]) == (
        "Connected", 22, 11,
    )  # fmt: skip
    assert [one["connectionStatus"] for one in shown["tunnelConnectionStatus"]] == ["NotConnected", "Connected"]
    tunnels["rack-1"] = TunnelState(up=False, since=1e9)
    assert status()["connectionStatus"] == "NotConnected"
    (listed,) = linked.arm("GET", f"{GROUP}/providers/Microsoft.Network/connections").json()["value"]
    assert "connectionStatus" not in listed["properties"]
    for answer in (shown, listed["properties"]):
        assert "sharedKey" not in answer


def test_the_key_has_an_address_and_a_right_of_its_own(live: Live) -> None:
    links.build(live)
    assert live.arm("GET", f"{links.CONNECTION}/sharedkey").json()["value"] == links.KEY
    reader = _token_of_a_reader(live)
    assert live.arm("GET", links.CONNECTION, token=reader).status_code == 200
    assert code(live.arm("GET", f"{links.CONNECTION}/sharedkey", token=reader)) == "AuthorizationFailed"
    assert code(live.arm("PUT", f"{links.CONNECTION}/sharedkey", {"value": "x"}, token=reader)) == "AuthorizationFailed"
    refused = live.arm("PUT", f"{links.CONNECTION}/sharedkey", {"value": "has-hyphens"})
    assert code(refused) == "InvalidParameter"
    assert "has-hyphens" not in refused.text
    live.wait(live.arm("PUT", f"{links.CONNECTION}/sharedkey", {"value": "another"}))
    assert {tunnel.key for tunnel in live.hypervisor.world.gateways[0].tunnels} == {"another"}
    without = links.connection()
    del without["properties"]["sharedKey"]
    live.put(links.CONNECTION, without)
    assert live.arm("GET", f"{links.CONNECTION}/sharedkey").json()["value"] == "another"


def _token_of_a_reader(live: Live) -> str:
    """Return a token of a machine's identity, which has Reader on the group."""
    identity = live.arm("GET", estate.IDENTITY).json()["properties"]
    roles = f"{GROUP.rsplit('/', 2)[0]}/providers/Microsoft.Authorization/roleDefinitions"
    live.put(
        f"{GROUP}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-4111-8111-111111111111",
        {
            "properties": {
                "principalId": identity["principalId"],
                "principalType": "ServicePrincipal",
                "roleDefinitionId": f"{roles}/acdd72a7-3385-48ef-bd42-f606fba81ae7",
            }
        },
    )
    return live.cloud._identity.token(
        object_id=identity["principalId"], app_id=identity["clientId"], audience="https://management.azure.com/"
    )


def test_a_reader_lists_what_is_in_its_group_and_nothing_beside(live: Live) -> None:
    estate.build(live)
    reader = _token_of_a_reader(live)
    sets = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets"
    for path, found in (
        (sets, []),
        (f"{GROUP}/providers/Microsoft.Network/networkInterfaces", [estate.NIC]),
        (f"{GROUP}/providers/Microsoft.Compute/virtualMachines", [estate.VM]),
    ):
        answer = live.arm("GET", path, token=reader)
        assert answer.status_code == 200, answer.text
        assert [one["id"] for one in answer.json()["value"]] == found
    for part in ("virtualMachines", "networkInterfaces"):
        assert code(live.arm("GET", f"{sets}/pool/{part}", token=reader)) == "ParentResourceNotFound"
    other = GROUP.replace("/lab", "/other")
    live.put(other, estate.WHERE)
    assert code(live.arm("GET", f"{other}/resources", token=reader)) == "AuthorizationFailed"
    assert code(live.arm("DELETE", estate.VM, token=reader)) == "AuthorizationFailed"


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            links.GATEWAY_SUBNET,
            estate.subnet("127.8.255.0/27", networkSecurityGroup={"id": estate.NSG}),
            "NetworkSecurityGroupCannotBeAttachedToGatewaySubnet",
        ),
        (links.GATEWAY_SUBNET, estate.subnet("127.8.255.0/27", natGateway={"id": estate.NAT}), "InvalidParameter"),
        (links.GATEWAY_SUBNET, estate.subnet("127.8.255.0/30"), "NetcfgInvalidSubnet"),
        (links.GATEWAY_SUBNET, estate.subnet("127.8.254.0/27"), "InUsePrefixCannotBeDeleted"),
        (f"{estate.NIC}b", estate.interface("127.8.255.10", subnet_id=links.GATEWAY_SUBNET), "InvalidParameter"),
        (
            links.GATEWAY,
            links.gateway(links.ADDRESSES[0]),
            "ActiveActiveGatewayMustHaveExactlyTwoIpConfigurations",
        ),
        (links.GATEWAY, links.gateway(activeActive=False), "InvalidParameter"),
        (links.GATEWAY, links.gateway(links.ADDRESSES[0], links.ADDRESSES[0]), "InvalidParameter"),
        (links.GATEWAY, links.gateway(links.ADDRESSES[0], estate.ADDRESS), "PublicIPAddressInUse"),
        (
            links.GATEWAY,
            links.gateway(sku="VpnGw2"),
            "RegionalVmssVpnGatewayPublicIpsMustNotHaveZonesConfigured",
        ),
        (links.GATEWAY, links.gateway(subnet=estate.SUBNET), "InvalidParameter"),
        (
            links.GATEWAY,
            links.gateway(vpnGatewayGeneration="Generation1"),
            "CrossSeriesOrCrossGatewayGenenrationResizeNotSupported",
        ),
        (
            links.GATEWAY,
            links.gateway(sku="VpnGw1AZ"),
            "VirtualNetworkGatewaySkuCannotBeCreatedForSpecifiedVmGeneration",
        ),
        (links.GATEWAY, links.gateway(enableBgp=True), "InvalidParameter"),
        (f"{links.GATEWAY}2", links.gateway(), "InvalidParameter"),
        (
            estate.NAT,
            {
                **estate.WHERE,
                "sku": {"name": "Standard"},
                "properties": {"publicIpAddresses": [{"id": links.ADDRESSES[0]}]},
            },
            "PublicIPAddressInUse",
        ),
        (links.REMOTE, links.remote(prefix="no range"), "InvalidParameter"),
        (links.CONNECTION, links.connection(dpdTimeoutSeconds=8), "InvalidParameter"),
        (links.CONNECTION, links.connection(dpdTimeoutSeconds=3601), "InvalidParameter"),
        (links.CONNECTION, links.connection(sharedKey="a b"), "InvalidParameter"),
        (links.CONNECTION, links.connection(sharedKey="x" * 129), "InvalidParameter"),
        (links.CONNECTION, links.connection(ipsecPolicies=[]), "InvalidParameter"),
        (links.CONNECTION, links.connection(ipsecPolicies=[links.policy(dhGroup="Group20")]), "InvalidParameter"),
        (
            links.CONNECTION,
            links.connection(ipsecPolicies=[links.policy(ipsecIntegrity="SHA256")]),
            "InvalidParameter",
        ),
        (
            links.CONNECTION,
            links.connection(ipsecPolicies=[{"ikeEncryption": "AES256"}]),
            "InvalidParameter",
        ),
        (links.CONNECTION, links.connection(usePolicyBasedTrafficSelectors=False), "InvalidParameter"),
        (
            links.CONNECTION,
            links.connection(localNetworkGateway2={"id": f"{links.REMOTE}9"}),
            "InvalidResourceReference",
        ),
        (f"{links.CONNECTION}2", links.connection(), "VirtualNetworkGatewayConnectionAlreadyExistsForEndpoints"),
    ],
)
def test_refusals(linked: Live, path: str, body: Any, expected: str) -> None:
    before = linked.arm("GET", path)
    response = linked.arm("PUT", path, body)
    assert code(response) == expected, response.text
    assert linked.arm("GET", path).status_code == before.status_code
    if before.status_code == 200:
        assert linked.arm("GET", path).json()["etag"] == before.json()["etag"]


def test_a_gateway_grows_in_place_and_does_not_shrink(linked: Live) -> None:
    linked.put(links.GATEWAY, links.gateway(sku="VpnGw3AZ"))
    assert linked.arm("GET", links.GATEWAY).json()["properties"]["sku"]["name"] == "VpnGw3AZ"
    assert code(linked.arm("PUT", links.GATEWAY, links.gateway())) == "InvalidParameter"


def test_a_zonal_gateway_needs_zonal_addresses(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(links.GATEWAY_SUBNET, estate.subnet("127.8.255.0/27"))
    live.put(links.ADDRESSES[0], links.address())
    live.put(links.ADDRESSES[1], links.address(zones=["1"]))
    expected = "ActiveActiveGatewayPublicIPAddressesDiffersInSkuOrZones"
    assert code(live.arm("PUT", links.GATEWAY, links.gateway())) == expected
    plain = links.address()
    del plain["zones"]
    for number in (2, 3):
        live.put(f"{links.ADDRESSES[0]}{number}", plain)
    body = links.gateway(*(f"{links.ADDRESSES[0]}{number}" for number in (2, 3)))
    assert code(live.arm("PUT", links.GATEWAY, body)) == "VmssVpnGatewayPublicIpsMustHaveZonesConfigured"


def test_a_region_without_zones_has_gateways_and_no_zones(live: Live) -> None:
    """An AZ size takes an address without zones there (azure-docs ``gateway-sku-consolidation.md``, "FAQ")."""
    estate.build(live, with_machine=False)
    refused = live.arm("PUT", links.ADDRESSES[0], links.address(location="westus"))
    assert code(refused) == "LocationNotSupportAvailabilityZones"
    plain = links.address(location="westus")
    del plain["zones"]
    live.put(links.ADDRESSES[0], plain)
    network = links.GATEWAY_SUBNET.rpartition("/subnets/")[0]
    live.arm("DELETE", links.GATEWAY_SUBNET)
    west = f"{network}-west"
    live.put(west, {**estate.network(), "location": "westus"})
    live.put(f"{west}/subnets/GatewaySubnet", estate.subnet("127.8.255.0/27"))
    body = links.gateway(links.ADDRESSES[0], subnet=f"{west}/subnets/GatewaySubnet", activeActive=False)
    assert live.arm("PUT", links.GATEWAY, {**body, "location": "westus"}).status_code == 201


def test_a_gateway_needs_a_subnet_that_is_not_too_small(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(links.GATEWAY_SUBNET, estate.subnet("127.8.255.0/28"))
    for one in links.ADDRESSES:
        live.put(one, links.address())
    answer = live.arm("PUT", links.GATEWAY, links.gateway())
    assert code(answer) == "InvalidParameter"
    assert "/27" in answer.text


def test_a_remote_end_is_not_the_gateway_itself(live: Live) -> None:
    links.build(live)
    live.put(f"{links.REMOTE}2", links.remote("198.51.100.66"))
    body = links.connection(localNetworkGateway2={"id": f"{links.REMOTE}2"})
    expected = "LocalNetworkGatewayCannotHaveSameAddressAsConnectedVnetGateway"
    assert code(live.arm("PUT", f"{links.CONNECTION}2", body)) == expected


def test_a_connection_waits_for_its_gateway(live: Live) -> None:
    links.build(live)
    live.hypervisor.broken = 10**6
    being_made = live.arm("PUT", links.GATEWAY, links.gateway())
    assert being_made.json()["properties"]["provisioningState"] == "Updating"
    refused = live.arm("PUT", links.CONNECTION, links.connection())
    assert (refused.status_code, code(refused)) == (429, "RetryableError")
    assert refused.json()["error"]["details"][0]["code"] == "ReferencedResourceNotProvisioned"
    live.hypervisor.broken = 0
    live.wait(being_made)
    live.put(links.CONNECTION, links.connection())


def test_of_two_connections_to_one_range_the_oldest_carries(live: Live) -> None:
    links.build(live)

    def carrying() -> dict[str, bool]:
        return {tunnel.name: tunnel.carries for tunnel in live.hypervisor.world.gateways[0].tunnels}

    # The id of the second sorts before that of the first, and its range lies within the other's.
    second, remote = f"{links.NETWORKING}/connections/a", f"{links.REMOTE}2"
    live.put(remote, links.remote("198.51.100.21", prefix="10.66.128.0/17"))
    live.put(second, links.connection(localNetworkGateway2={"id": remote}))
    assert carrying() == {"a-0": False, "a-1": False, "rack-0": True, "rack-1": True}
    live.put(links.CONNECTION, links.connection(dpdTimeoutSeconds=60))
    assert carrying() == {"a-0": False, "a-1": False, "rack-0": True, "rack-1": True}
    live.wait(live.arm("DELETE", links.CONNECTION))
    assert carrying() == {"a-0": True, "a-1": True}


def test_a_gateway_spreads_flows_when_both_instances_are_active(live: Live) -> None:
    links.build(live)
    assert live.hypervisor.world.gateways[0].spreads
    live.put(links.GATEWAY, links.gateway(links.ADDRESSES[0], activeActive=False))
    (gateway,) = live.hypervisor.world.gateways
    assert not gateway.spreads
    assert [tunnel.name for tunnel in gateway.tunnels] == ["rack-0"]
    assert live.arm("DELETE", links.ADDRESSES[1]).status_code == 200


def test_a_gateway_has_as_many_connections_as_its_size_has_tunnels(live: Live) -> None:
    links.build(live)
    for number in range(31):
        remote = f"{links.NETWORKING}/localNetworkGateways/other-{number}"
        live.put(remote, links.remote(f"192.0.2.{number + 1}", prefix=f"10.{100 + number}.0.0/16"))
        answer = live.arm(
            "PUT",
            f"{links.NETWORKING}/connections/other-{number}",
            links.connection(localNetworkGateway2={"id": remote}),
        )
        if number < 29:
            assert answer.status_code == 201, answer.text
        else:
            assert code(answer) == "VirtualNetworkGatewayConnectionsLimitReached"
    live.wait(live.arm("PUT", links.CONNECTION, links.connection(dpdTimeoutSeconds=60)))


def test_what_is_shown_can_be_put_back(live: Live) -> None:
    links.build(live)
    for path in (links.GATEWAY_SUBNET, links.GATEWAY, links.REMOTE, links.CONNECTION, links.ADDRESSES[0]):
        before = live.arm("GET", path).json()
        response = live.arm("PUT", path, before)
        assert response.status_code == 200, response.text
        live.wait(response)
        assert live.arm("GET", path).json()["properties"].keys() == before["properties"].keys()
    assert len(live.hypervisor.world.gateways[0].tunnels) == 2


def test_they_go_in_order_only(live: Live) -> None:
    links.build(live)
    for path, expected in (
        (links.GATEWAY, "VirtualNetworkGatewayCannotBeDeleted"),
        (links.REMOTE, "LocalNetworkGatewayCannotBeDeleted"),
        (links.GATEWAY_SUBNET, "InUseSubnetCannotBeDeleted"),
        (links.ADDRESSES[1], "PublicIPAddressCannotBeDeleted"),
    ):
        assert code(live.arm("DELETE", path)) == expected
    for path in (links.CONNECTION, links.GATEWAY):
        response = live.arm("DELETE", path)
        assert response.status_code == 202
        live.wait(response)
        assert live.arm("GET", path).status_code == 404
    assert live.hypervisor.world.gateways == ()
    assert all(subnet.routes == () for subnet in live.hypervisor.world.networks[0].subnets)
    for path in (links.REMOTE, links.GATEWAY_SUBNET, *links.ADDRESSES):
        response = live.arm("DELETE", path)
        assert response.status_code == (202 if path == links.GATEWAY_SUBNET else 200)
        live.wait(response)


def test_what_was_under_way_ends_after_a_restart(live: Live) -> None:
    links.build(live)
    live.hypervisor.broken = 10**6
    response = live.arm("DELETE", links.CONNECTION)
    live.stop()
    live.hypervisor.broken = 0
    live.start()
    live.wait(response)
    assert live.arm("GET", links.CONNECTION).status_code == 404
