"""Azure's limits of requests about machines and scale sets, by a clock that the test turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.cloud.azure.request_buckets import RequestBuckets, policy_of
from lab.cloud.delays import Delays
from tests.lab.cloud import estate, sets
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.conftest import GROUP, Live, reached

REMAINING = "x-ms-ratelimit-remaining-resource"
VMS, SETS = "Microsoft.Compute/virtualMachines", "Microsoft.Compute/virtualMachineScaleSets"


@pytest.fixture(name="clock")
def _clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(name="limited")
def _limited(tmp_path: Path, clock: TurnedClock) -> Iterator[Live]:
    """A cloud that limits requests."""
    with reached(Live(tmp_path / "cloud", delays=Delays(clock=clock), request_limits=True)) as live:
        yield live


def turn(live: Live, clock: TurnedClock, seconds: float) -> None:
    live.call(clock.turn(seconds))


def test_a_set_is_read_36_times_and_12_times_more_each_minute(limited: Live, clock: TurnedClock) -> None:
    sets.build(limited, 0)
    turn(limited, clock, 600)
    first = limited.arm("GET", sets.SET)
    assert first.headers[REMAINING] == (
        "Microsoft.Compute/GetVMScaleSetSubscriptionMaximum;2399,Microsoft.Compute/GetVMScaleSetResource;35"
    )
    assert [limited.arm("GET", sets.SET).status_code for _ in range(36)] == [200] * 35 + [429]
    turn(limited, clock, 59)
    refused = limited.arm("GET", sets.SET)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.headers[REMAINING].endswith("GetVMScaleSetResource;0")
    error = refused.json()["error"]
    assert (error["code"], error["details"][0]["code"]) == ("OperationNotAllowed", "TooManyRequests")
    assert error["details"][0]["target"] == "GetVMScaleSetResource"
    assert json.loads(error["details"][0]["message"])["allowedRequestCount"] == 36
    assert limited.arm("GET", f"{sets.SET}/virtualMachines").status_code == 200, "another group of operations"
    turn(limited, clock, 1)
    assert [limited.arm("GET", sets.SET).status_code for _ in range(13)] == [200] * 12 + [429]


def test_the_lists_of_a_group_have_the_subscriptions_limit_alone(limited: Live) -> None:
    estate.build(limited, with_machine=False)
    answer = limited.arm("GET", f"{GROUP}/providers/{SETS}")
    assert answer.headers[REMAINING] == "Microsoft.Compute/HighCostGetVMScaleSetSubscriptionMaximum;1079"
    answer = limited.arm("GET", f"{GROUP}/providers/{VMS}")
    assert answer.headers[REMAINING] == "Microsoft.Compute/HighCostGetSubscriptionMaximum;899"
    assert REMAINING not in limited.arm("GET", estate.SUBNET).headers


def test_a_machines_operations_and_commands_are_limited_too(limited: Live) -> None:
    estate.build(limited)
    body = {"commandId": "RunShellScript", "script": ["true"]}
    begun = limited.arm("POST", f"{estate.VM}/runCommand", body)
    assert begun.headers[REMAINING].endswith("Microsoft.Compute/UpdateVMResource;11")
    path = begun.headers["Azure-AsyncOperation"].removeprefix("https://management.azure.com").partition("?")[0]
    left = [limited.arm("GET", path).headers[REMAINING].rpartition(";")[2] for _ in range(2)]
    assert int(left[0]) == int(left[1]) + 1
    assert limited.arm("GET", estate.VM).headers[REMAINING].endswith("Microsoft.Compute/LowCostGetResource;34")


def test_requests_of_one_resource_leave_those_of_another_alone() -> None:
    buckets = RequestBuckets(now=lambda: 0.0)
    policy = policy_of("PATCH", SETS)
    assert policy
    for resource in ("a", "b"):
        for left in range(11, -1, -1):
            assert buckets.take(policy, resource=resource, region="r")[REMAINING].endswith(f"Resource;{left}")
    assert buckets.take(policy, resource="c", region="other")[REMAINING].startswith(
        "Microsoft.Compute/UpdateVMScaleSetSubscriptionMaximum;1499,"
    )


@pytest.mark.parametrize(
    ("method", "type", "more", "name", "per_resource"),
    [
        ("GET", VMS, {}, "LowCostGet", 12),
        ("PUT", VMS, {}, "CreateVM", 4),
        ("DELETE", VMS, {}, "DeleteVM", 4),
        ("POST", VMS, {"action": "deallocate"}, "DeleteVM", 4),
        ("POST", VMS, {"action": "start"}, "UpdateVM", 4),
        ("POST", SETS, {"action": "delete"}, "DeleteVMScaleSet", 4),
        ("POST", SETS, {"action": "reimage"}, "UpdateVMScaleSet", None),
        ("POST", f"{SETS}/virtualMachines", {"action": "reimage"}, "UpdateVMScaleSetVM", 4),
        ("GET", f"{SETS}/virtualMachines", {}, "GetVMScaleSetVM", 12),
        ("GET", f"{SETS}/virtualMachines", {"lists": True}, "HighCostGetVMScaleSet", 10),
        ("GET", f"{SETS}/networkInterfaces", {"lists": True}, None, None),
        ("PUT", "Microsoft.Network/virtualNetworks", {}, None, None),
    ],
)
def test_each_kind_of_request_has_the_limit_of_the_tables(
    method: str, type: str, more: dict[str, object], name: str | None, per_resource: int | None
) -> None:
    policy = policy_of(method, type, **more)  # type: ignore[arg-type]
    assert (policy and policy.name) == name
    if policy:
        assert (policy.resource and policy.resource.refill) == per_resource
        assert policy.subscription.capacity == 3 * policy.subscription.refill
