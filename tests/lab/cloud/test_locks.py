"""Azure changes a network, and a gateway, once at a time: what is refused meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from lab.providers.client import ResourceManagerClient, ResourceManagerError
from tests.lab.cloud import estate, links
from tests.lab.cloud.conftest import GROUP, NETWORK, Live, SlowLive
from tests.lab.cloud.links import code
from tests.lab.cloud.test_delays import state


def networks(live: Live) -> None:
    """Make two networks without parts."""
    live.put(GROUP, estate.WHERE)
    live.put(NETWORK, estate.network())
    live.put(links.SECOND_NETWORK, estate.network("127.9.0.0/16"))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"{NETWORK}/subnets/b", estate.subnet("127.8.1.0/24")),
        ("PUT", links.PEERING, links.peering(links.SECOND_NETWORK)),
        ("PUT", NETWORK, estate.network()),
        ("PATCH", NETWORK, {"tags": {"a": "b"}}),
        ("PUT", estate.SUBNET, estate.subnet()),
        ("DELETE", estate.SUBNET, None),
        ("DELETE", NETWORK, None),
    ],
)
def test_a_network_is_changed_once_at_a_time(slow: SlowLive, method: str, path: str, body: Any) -> None:
    networks(slow)
    being_made = slow.arm("PUT", estate.SUBNET, estate.subnet())
    assert being_made.status_code == 201
    assert being_made.json()["properties"]["provisioningState"] == "Updating"
    before = slow.arm("GET", path).content
    refused = slow.arm(method, path, body)
    assert (refused.status_code, code(refused)) == (409, "AnotherOperationInProgress"), refused.text
    assert being_made.headers["Azure-AsyncOperation"].split("?")[0].rsplit("/", 1)[-1] in refused.text
    assert slow.arm("GET", path).content == before
    slow.wait(being_made)
    assert state(slow, estate.SUBNET) == "Succeeded"
    assert slow.arm(method, path, body).status_code < 300


def test_other_networks_are_changed_meanwhile(slow: SlowLive) -> None:
    networks(slow)
    assert slow.arm("PUT", estate.SUBNET, estate.subnet()).status_code == 201
    assert slow.arm("PUT", f"{links.SECOND_NETWORK}/subnets/a", estate.subnet("127.9.0.0/24")).status_code == 201


def test_a_peering_needs_the_other_network_at_rest(slow: SlowLive) -> None:
    """Neither while a subnet of it is made, nor while its own half is."""
    networks(slow)
    being_made = slow.arm("PUT", f"{links.SECOND_NETWORK}/subnets/a", estate.subnet("127.9.0.0/24"))
    refused = slow.arm("PUT", links.PEERING, links.peering(links.SECOND_NETWORK))
    assert (refused.status_code, code(refused)) == (400, "ReferencedResourceNotProvisioned")
    slow.wait(being_made)
    half = slow.arm("PUT", links.PEERING, links.peering(links.SECOND_NETWORK))
    assert code(slow.arm("PUT", links.BACK, links.peering(NETWORK))) == "ReferencedResourceNotProvisioned"
    slow.wait(half)
    assert slow.put(links.BACK, links.peering(NETWORK))["properties"]["peeringState"] == "Connected"


def test_what_needs_a_subnet_waits_for_it(slow: SlowLive) -> None:
    estate.build(slow, with_machine=False)
    endpoints = [{"service": "Microsoft.KeyVault"}]
    body = estate.subnet(networkSecurityGroup={"id": estate.NSG}, natGateway={"id": estate.NAT})
    body["properties"]["serviceEndpoints"] = endpoints
    being_changed = slow.arm("PUT", estate.SUBNET, body)
    refused = slow.arm("PUT", f"{estate.NIC}b", estate.interface("127.8.0.11"))
    assert (refused.status_code, code(refused)) == (429, "RetryableError")
    [inner] = refused.json()["error"]["details"]
    assert inner["code"] == "ReferencedResourceNotProvisioned"
    slow.wait(being_changed)
    slow.put(f"{estate.NIC}b", estate.interface("127.8.0.11"))


def test_a_gateway_takes_one_connection_at_a_time(slow: SlowLive) -> None:
    links.build(slow)
    slow.put(f"{links.REMOTE}2", links.remote("198.51.100.21", "10.67.0.0/16"))
    second = links.connection(
        localNetworkGateway2={"id": f"{links.REMOTE}2"},
        trafficSelectorPolicies=[{"localAddressRanges": ["127.8.0.0/16"], "remoteAddressRanges": ["10.67.0.0/16"]}],
    )
    being_changed = slow.arm("PUT", links.CONNECTION, links.connection())
    assert code(slow.arm("PUT", f"{links.CONNECTION}2", second)) == "AnotherOperationInProgress"
    assert code(slow.arm("PUT", links.GATEWAY, links.gateway())) == "AnotherOperationInProgress"
    assert code(slow.arm("PUT", f"{links.CONNECTION}/sharedkey", {"value": "x"})) == "AnotherOperationInProgress"
    slow.wait(being_changed)
    slow.put(f"{links.CONNECTION}2", second)


def test_a_deleted_subnet_is_there_until_its_operation_has_ended(slow: SlowLive) -> None:
    networks(slow)
    slow.put(estate.SUBNET, estate.subnet())
    being_deleted = slow.arm("DELETE", estate.SUBNET)
    assert (being_deleted.status_code, state(slow, estate.SUBNET)) == (202, "Deleting")
    slow.wait(being_deleted)
    assert slow.arm("GET", estate.SUBNET).status_code == 404


def test_the_plugin_does_not_repeat_what_is_refused(slow: SlowLive, caplog: pytest.LogCaptureFixture) -> None:
    """The stand-in is stricter than the real plugin, which repeats for 200 seconds: a program in the right order never
    needs that."""
    networks(slow)
    slow.put(estate.SUBNET, estate.subnet())
    slow.arm("PUT", estate.SUBNET, estate.subnet())
    caplog.set_level("INFO", logger="lab.cloud.azure.arm")
    for path, given, expected in (
        (f"{NETWORK}/subnets/b", estate.subnet("127.8.1.0/24"), 409),
        (estate.NIC, estate.interface(), 429),
    ):
        with pytest.raises(ResourceManagerError) as refused:
            ResourceManagerClient().put(path, given, api_version="2024-05-01")
        assert refused.value.status == expected
        assert [text for text in caplog.messages if path in text] == [f"PUT {path} -> {expected}"]
