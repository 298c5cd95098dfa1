"""Requests that the resource manager stores, shows and refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clouds.azure import service_tags
from lab.cloud.azure.schema.network_security_group import is_prefix
from lab.cloud.azure.schema.zones import ZONES_STAY
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def test_everything_is_shown_as_it_was_put(live: Live) -> None:
    estate.build(live)
    shown = live.arm("GET", NETWORK.upper()).json()
    assert shown["id"] == NETWORK
    assert shown["type"] == "Microsoft.Network/virtualNetworks"
    assert shown["properties"]["provisioningState"] == "Succeeded"
    assert [subnet["id"] for subnet in shown["properties"]["subnets"]] == [estate.SUBNET]
    assert shown["properties"]["subnets"][0]["properties"]["networkSecurityGroup"] == {"id": estate.NSG}
    machine = live.arm("GET", estate.VM).json()
    assert "customData" not in machine["properties"]["osProfile"]
    assert machine["identity"]["userAssignedIdentities"][estate.IDENTITY].keys() == {"principalId", "clientId"}
    assert live.arm("GET", estate.ADDRESS).json()["properties"]["ipAddress"].startswith("198.51.100.")


def test_what_is_shown_can_be_put_back(live: Live) -> None:
    estate.build(live)
    for path in (
        NETWORK,
        estate.SUBNET,
        estate.NSG,
        estate.NAT,
        estate.ADDRESS,
        estate.BALANCER,
        estate.NIC,
        estate.IDENTITY,
        estate.ZONE,
        f"{estate.ZONE}/A/api-0",
        estate.VM,
    ):
        before = live.arm("GET", path).json()
        response = live.arm("PUT", path, before)
        assert response.status_code == 200, response.text
        live.wait(response)
        after = live.arm("GET", path).json()
        assert _without_etags(after) == _without_etags(before)


def _without_etags(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_etags(inner) for key, inner in value.items() if key != "etag"}
    return [_without_etags(item) for item in value] if isinstance(value, list) else value


def test_lists(live: Live) -> None:
    estate.build(live)
    interfaces = live.arm("GET", f"{GROUP}/providers/Microsoft.Network/networkInterfaces").json()["value"]
    assert [one["id"] for one in interfaces] == [estate.NIC]
    subnets = live.arm("GET", f"{NETWORK}/subnets").json()["value"]
    assert [one["name"] for one in subnets] == ["api"]
    everything = live.arm("GET", f"{GROUP}/resources").json()["value"]
    assert {one["id"] for one in everything} >= {NETWORK, estate.VM, estate.ZONE}
    subscription = GROUP.rsplit("/", 2)[0]
    assert len(live.arm("GET", f"{subscription}/providers/Microsoft.Compute/virtualMachines").json()["value"]) == 1
    assert [one["name"] for one in live.arm("GET", f"{subscription}/resourcegroups").json()["value"]] == ["lab"]


@pytest.mark.parametrize(
    ("path", "body", "status", "expected"),
    [
        (f"{GROUP}/providers/Microsoft.Cache/redis/x", {}, 400, "InvalidResourceType"),
        (NETWORK.replace("lab", "none"), estate.network(), 404, "ResourceGroupNotFound"),
        (
            NETWORK,
            estate.network() | {"properties": {"addressSpace": {"addressPrefixes": []}, "x": 1}},
            400,
            "InvalidParameter",
        ),
        (NETWORK, {**estate.network(), "sku": {}}, 400, "NotSupportedByLab"),
        (f"{NETWORK}2", estate.network("not a range"), 400, "InvalidParameter"),
        (f"{NETWORK}/subnets/b", estate.subnet("127.9.0.0/24"), 400, "NetcfgInvalidSubnet"),
        (f"{NETWORK}/subnets/b", estate.subnet("127.8.0.128/25"), 400, "NetcfgSubnetRangesOverlap"),
        (
            f"{NETWORK}/subnets/b",
            estate.subnet("127.8.1.0/24", natGateway={"id": f"{estate.NAT}x"}),
            400,
            "InvalidResourceReference",
        ),
        (f"{NETWORK}9/subnets/b", estate.subnet(), 404, "ParentResourceNotFound"),
        (estate.SUBNET, estate.subnet("127.8.2.0/24"), 400, "InUsePrefixCannotBeDeleted"),
        (f"{estate.NIC}b", estate.interface("127.8.0.10"), 400, "PrivateIPAddressInUse"),
        (f"{estate.NIC}b", estate.interface("127.8.0.100"), 400, "PrivateIPAddressInUse"),
        (f"{estate.NIC}b", estate.interface("127.8.1.10"), 400, "PrivateIPAddressNotInSubnet"),
        (f"{estate.NIC}b", estate.interface("127.8.0.3"), 400, "PrivateIPAddressInReservedRange"),
        (f"{estate.NIC}b", estate.interface(subnet_id=f"{NETWORK}/subnets/none"), 400, "InvalidResourceReference"),
        (
            f"{estate.NIC}b",
            {**estate.interface("127.8.0.11"), "location": "northeurope"},
            400,
            "InvalidResourceReference",
        ),
        (f"{estate.NIC}b", estate.interface("127.8.0.11", public=estate.ADDRESS), 400, "PublicIPAddressInUse"),
        (
            f"{estate.NIC}b",
            estate.interface("127.8.0.11", public=f"{estate.ADDRESS}x"),
            400,
            "InvalidResourceReference",
        ),
        (f"{estate.VM}b", estate.machine(), 400, "NicInUse"),
        (f"{estate.VM}b", estate.machine(size="Standard_Huge"), 400, "InvalidParameter"),
        (f"{estate.VM}b", estate.machine(data=b"x" * 65537), 400, "InvalidParameter"),
        (f"{estate.VM}b", estate.machine(nic=f"{estate.NIC}z"), 400, "InvalidResourceReference"),
        (
            estate.NSG,
            {**estate.WHERE, "properties": {"securityRules": [estate.rule("a", 100), estate.rule("b", 100)]}},
            400,
            "SecurityRuleConflict",
        ),
        (
            estate.NSG,
            {**estate.WHERE, "properties": {"securityRules": [estate.rule("a", 100, sourceAddressPrefix="Moon")]}},
            400,
            "SecurityRuleInvalidAddressPrefix",
        ),
        *(
            (
                estate.NSG,
                {**estate.WHERE, "properties": {"securityRules": [estate.rule("a", 100, sourceAddressPrefix=tag)]}},
                400,
                "SecurityRuleInvalidAddressPrefix",
            )
            for tag in ("AzureCloud.norwayeast", "AzureCloud.moon", "Internet.westeurope")
        ),
    ],
)
def test_refusals(built: Live, path: str, body: Any, status: int, expected: str) -> None:
    before = built.arm("GET", path).json()
    response = built.arm("PUT", path, body)
    assert (response.status_code, code(response)) == (status, expected), response.text
    assert built.arm("GET", path).json() == before


@pytest.mark.parametrize("region", sorted(service_tags.regions()))
def test_the_tag_of_every_region_is_taken(region: str) -> None:
    assert is_prefix(service_tags.cloud_tag(region))


@pytest.mark.parametrize(
    ("asked", "shown"),
    [(["2"], ["2"]), (["3", "1"], ["3", "1", "2"]), (["1", "2", "3"], ["1", "2", "3"])],
)
def test_an_address_is_in_one_zone_or_in_all_and_stays_there(live: Live, asked: list[str], shown: list[str]) -> None:
    estate.build(live, with_machine=False)
    path = f"{estate.ADDRESS}-zonal"
    body = {**live.arm("GET", estate.ADDRESS).json(), "zones": asked}
    assert live.put(path, body)["zones"] == shown
    assert live.put(path, {**body, "zones": sorted(shown)})["zones"] == shown
    plain = {key: value for key, value in body.items() if key != "zones"}
    for other in (plain, {**body, "zones": ["1"]}, {**body, "zones": ["4"]}):
        refused = live.arm("PUT", path, other)
        expected = "InvalidAvailabilityZone" if other.get("zones") == ["4"] else ZONES_STAY
        assert (refused.status_code, code(refused)) == (400, expected)


def test_a_frontend_is_in_one_zone_or_in_all_and_stays_there(live: Live) -> None:
    estate.build(live, with_machine=False)
    body = estate.balancer()
    frontend = body["properties"]["frontendIPConfigurations"][0]
    frontend["zones"] = ["1", "2", "3"]
    assert code(live.arm("PUT", estate.BALANCER, body)) == ZONES_STAY
    frontend["properties"]["privateIPAddress"] = "127.8.0.101"
    zonal = json.loads(json.dumps(body).replace("loadBalancers/api", "loadBalancers/zonal"))
    path = estate.BALANCER.replace("loadBalancers/api", "loadBalancers/zonal")
    changed = zonal["properties"]["frontendIPConfigurations"][0]
    changed["zones"] = ["2", "1"]
    assert code(live.arm("PUT", path, zonal)) == "ResourceCannotHaveMultipleZonesSpecified"
    changed["zones"] = ["1", "2", "3"]
    live.put(path, zonal)
    changed["zones"] = ["1"]
    assert code(live.arm("PUT", path, zonal)) == ZONES_STAY


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (NETWORK, "InUseSubnetCannotBeDeleted"),
        (estate.SUBNET, "InUseSubnetCannotBeDeleted"),
        (estate.NIC, "NicInUse"),
        (estate.NSG, "InUseNetworkSecurityGroupCannotBeDeleted"),
        (estate.NAT, "NatGatewayInUse"),
        (estate.ADDRESS, "PublicIPAddressCannotBeDeleted"),
        (estate.BALANCER, "InUseBackendAddressPoolCannotBeDeleted"),
        (estate.ZONE, "CannotDeleteResource"),
    ],
)
def test_what_is_used_is_not_deleted(built: Live, path: str, expected: str) -> None:
    response = built.arm("DELETE", path)
    assert code(response) == expected
    assert built.arm("GET", path).status_code == 200


def test_a_nat_gateway_takes_sixteen_addresses(live: Live) -> None:
    """Seventeen are refused (azure-docs ``nat-gateway-resource.md``, "Static public IP addresses")."""
    estate.build(live, with_machine=False)
    paths = [estate.ADDRESS, *(f"{estate.ADDRESS}-{number}" for number in range(1, 17))]
    for path in paths[1:]:
        live.put(path, estate.public_address())
    gateway = live.arm("GET", estate.NAT).json()
    gateway["properties"]["publicIpAddresses"] = [{"id": path} for path in paths]
    assert live.arm("PUT", estate.NAT, gateway).status_code == 400
    gateway["properties"]["publicIpAddresses"].pop()
    live.put(estate.NAT, gateway)
    (subnet,) = live.hypervisor.world.networks[0].subnets
    assert len(set(subnet.egress)) == 16


def test_a_public_address_is_one_interface_s_until_it_is_taken_from_it(live: Live) -> None:
    estate.build(live, with_machine=False)
    path, nics = f"{estate.ADDRESS}-door", (f"{estate.NIC}-a", f"{estate.NIC}-b")
    live.put(path, estate.public_address())
    first, second = (estate.interface(f"127.8.0.{11 + number}", public=path) for number in range(2))
    shown = live.put(nics[0], first)["properties"]["ipConfigurations"][0]
    assert shown["properties"]["publicIPAddress"] == {"id": path}
    holder = f"{nics[0]}/ipConfigurations/primary"
    assert live.arm("GET", path).json()["properties"]["ipConfiguration"] == {"id": holder}
    refused = live.arm("PUT", nics[1], second).json()["error"]
    assert refused["code"] == "PublicIPAddressInUse"
    assert f"{nics[1]}/ipConfigurations/primary is referencing" in refused["message"]
    assert refused["message"].endswith(f"already allocated to resource {holder}.")
    gateway = {**estate.WHERE, "sku": {"name": "Standard"}, "properties": {"publicIpAddresses": [{"id": path}]}}
    assert code(live.arm("PUT", f"{estate.NAT}2", gateway)) == "PublicIPAddressInUse"
    kept = live.arm("DELETE", path).json()["error"]
    assert (kept["code"], holder in kept["message"]) == ("PublicIPAddressCannotBeDeleted", True)
    live.put(nics[0], first)
    live.put(nics[0], estate.interface("127.8.0.11"))
    assert "ipConfiguration" not in live.arm("GET", path).json()["properties"]
    live.put(nics[1], second)
    assert live.arm("DELETE", nics[1]).status_code == 200
    assert live.arm("DELETE", path).status_code == 200


def test_deleting_in_order_leaves_nothing(live: Live) -> None:
    estate.build(live)
    live.wait(live.arm("DELETE", estate.VM))
    assert code(live.arm("GET", estate.VM)) == "ResourceNotFound"
    for path in (
        estate.NIC,
        estate.BALANCER,
        f"{estate.ZONE}/virtualNetworkLinks/net",
        estate.ZONE,
        NETWORK,
        estate.NSG,
        estate.NAT,
        estate.ADDRESS,
        estate.IDENTITY,
    ):
        assert live.arm("DELETE", path).status_code in (200, 202), path
    assert live.arm("DELETE", NETWORK).status_code == 204
    assert live.arm("GET", f"{GROUP}/resources").json()["value"] == []
    assert live.arm("GET", estate.SUBNET).status_code == 404


def test_deleting_a_group_takes_everything_with_it(live: Live) -> None:
    estate.build(live)
    response = live.arm("DELETE", GROUP)
    assert response.status_code == 202
    live.wait(response)
    assert code(live.arm("GET", GROUP)) == "ResourceGroupNotFound"
    assert live.hypervisor.world.machines == ()
    assert live.hypervisor.world.networks == ()


def test_inline_subnets_are_exactly_those_given(live: Live) -> None:
    live.put(GROUP, estate.WHERE)
    subnets = [{"name": name, "properties": {"addressPrefix": f"127.8.{i}.0/24"}} for i, name in enumerate(("a", "b"))]
    body = estate.network()
    body["properties"]["subnets"] = subnets
    assert [one["name"] for one in live.put(NETWORK, body)["properties"]["subnets"]] == ["a", "b"]
    body["properties"]["subnets"] = subnets[1:]
    assert [one["name"] for one in live.put(NETWORK, body)["properties"]["subnets"]] == ["b"]
    del body["properties"]["subnets"]
    assert [one["name"] for one in live.put(NETWORK, body)["properties"]["subnets"]] == ["b"]


def test_patch_changes_tags_only(live: Live) -> None:
    live.put(GROUP, estate.WHERE)
    live.put(NETWORK, estate.network())
    assert live.arm("PATCH", NETWORK, {"tags": {"a": "b"}}).json()["tags"] == {"a": "b"}
    assert code(live.arm("PATCH", NETWORK, {"properties": {}})) == "NotSupportedByLab"


def test_requests_need_a_token_and_a_version(live: Live) -> None:
    assert live.arm("GET", GROUP, token="nonsense").status_code == 401
    assert code(live.arm("GET", GROUP, **{"api-version": ""})) == "MissingApiVersionParameter"
    wrong_audience = live.token("https://vault.azure.net")
    assert live.arm("GET", GROUP, token=wrong_audience).status_code == 401


def test_state_survives_a_restart(live: Live) -> None:
    estate.build(live)
    before = live.arm("GET", f"{GROUP}/resources").json()
    live.stop()
    live.start()
    assert live.arm("GET", f"{GROUP}/resources").json() == before
    assert live.call(_applied(live)) == 1


async def _applied(live: Live) -> int:
    while not live.hypervisor.world.machines:
        await live.cloud.store.wait_changed(0)
    return len(live.hypervisor.world.machines)
