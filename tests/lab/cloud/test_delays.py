"""Operations that take as long as Azure documents, by a clock that the test turns."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from clouds.azure.api import BUSY, AzureApi
from lab.cloud.azure.changes import DURATIONS_S
from lab.cloud.azure.commands import LEAST_S, LIMIT_S
from lab.cloud.azure.schema import virtual_network_gateway
from lab.cloud.delays import Delays
from lab.providers.client import ApiError, Client
from tests.lab.cloud import estate, links
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.conftest import GROUP, NETWORK, SUBSCRIPTION, Live, SlowLive
from tests.lab.cloud.links import code

MINUTE = 60.0


def state(live: Live, path: str) -> str:
    return str(live.arm("GET", path).json()["properties"]["provisioningState"])


@pytest.mark.parametrize(("factor", "expected"), [(0.0, 0.0), (0.1, 270.0), (1.0, 2700.0)])
def test_all_delays_follow_one_factor(factor: float, expected: float) -> None:
    delays = Delays(factor, clock=TurnedClock())
    assert delays.after(45 * MINUTE) - delays.now() == expected


def test_without_a_clock_of_its_own_a_delay_is_real_time() -> None:
    delays = Delays(0.001)
    begun = delays.now()
    asyncio.run(delays.until(delays.after(10.0)))
    assert delays.now() - begun >= 0.01


def test_shares_look_random_and_are_the_same_in_each_run() -> None:
    shares = [Delays(seed="lab").share("assignment", str(number)) for number in range(100)]
    assert shares == [Delays(seed="lab").share("assignment", str(number)) for number in range(100)]
    assert shares != [Delays(seed="other").share("assignment", str(number)) for number in range(100)]
    assert 0 <= min(shares) < 0.1 < 0.9 < max(shares) < 1


def test_a_gateway_takes_three_quarters_of_an_hour(slow: SlowLive) -> None:
    links.build(slow)
    being_changed = slow.arm("PUT", links.GATEWAY, links.gateway())
    slow.turn(DURATIONS_S[virtual_network_gateway.TYPE] - 1)
    assert state(slow, links.GATEWAY) == "Updating"
    slow.turn(1)
    Live.wait(slow, being_changed)
    assert state(slow, links.GATEWAY) == "Succeeded"


def test_a_restart_of_the_daemon_makes_nothing_begin_anew(slow: SlowLive) -> None:
    links.build(slow)
    being_changed = slow.arm("PUT", links.GATEWAY, links.gateway())
    slow.turn(44 * MINUTE)
    slow.stop()
    slow.start()
    slow.turn(MINUTE)
    Live.wait(slow, being_changed)
    assert state(slow, links.GATEWAY) == "Succeeded"


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
    for path, body, expected in (
        (f"{NETWORK}/subnets/b", estate.subnet("127.8.1.0/24"), 409),
        (estate.NIC, estate.interface(), 429),
    ):
        with pytest.raises(ApiError) as refused:
            Client().put(path, body, api_version="2024-05-01")
        assert refused.value.status == expected
        assert [text for text in caplog.messages if path in text] == [f"PUT {path} -> {expected}"]


COMMAND = {"commandId": "RunShellScript", "script": ["true"]}


def run(live: Live) -> Any:
    return live.arm("POST", f"{estate.VM}/runCommand", COMMAND)


def status(live: Live, response: Any) -> dict[str, Any]:
    """Return an operation as it is now."""
    path = response.headers["Azure-AsyncOperation"].removeprefix("https://management.azure.com").split("?")[0]
    answer: dict[str, Any] = live.arm("GET", path).json()
    return answer


def test_a_command_takes_twenty_seconds_and_another_one_waits_for_it(slow: SlowLive) -> None:
    estate.build(slow)
    first = run(slow)
    slow.turn(LEAST_S - 1)
    assert status(slow, first)["status"] == "InProgress"
    refused = run(slow)
    assert (refused.status_code, code(refused)) == (409, BUSY)
    slow.turn(1)
    Live.wait(slow, first)
    assert len(slow.hypervisor.commands) == 1, "what is refused is not run"
    assert run(slow).status_code == 202


def test_the_program_waits_for_another_ones_command(slow: SlowLive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operators look at the same machine: the second one's command begins when the first one's has ended."""
    estate.build(slow)
    first, looked = run(slow), threading.Event()
    monkeypatch.setattr("clouds.azure.api.BUSY_S", 0.01)
    monkeypatch.setattr("clouds.azure.session._pause", lambda _: looked.set() or 0.01)
    found: list[str] = []
    second = threading.Thread(
        target=lambda: found.append(AzureApi(subscription=SUBSCRIPTION).run_command("lab", "api-0", "true").stdout)
    )
    second.start()
    slow.turn(LEAST_S)
    Live.wait(slow, first)
    assert looked.wait(30)
    slow.turn(LEAST_S)
    second.join(30)
    assert found == ["out"]


def test_a_command_that_was_lost_with_the_daemon_keeps_nobody_waiting(slow: SlowLive) -> None:
    estate.build(slow)
    lost = run(slow)
    slow.stop()
    slow.start()
    assert status(slow, lost)["error"]["code"] == "OperationPreempted"
    assert run(slow).status_code == 202


def test_a_command_without_a_way_out_is_run_and_its_result_never_comes(slow: SlowLive) -> None:
    estate.build(slow)
    slow.put(estate.SUBNET, estate.subnet(networkSecurityGroup={"id": estate.NSG}))
    being_run = run(slow)
    slow.turn(LIMIT_S - 1)
    assert status(slow, being_run)["status"] == "InProgress"
    assert slow.hypervisor.commands == [(estate.VM.lower(), "true\n")]
    slow.turn(1)
    Live.wait(slow, being_run)
    assert status(slow, being_run)["error"]["code"] == "VMExtensionProvisioningTimeout"
