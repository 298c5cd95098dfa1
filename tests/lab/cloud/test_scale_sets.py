"""Scale sets in uniform orchestration: capacity, models, protection, and what a cloud runs out of."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from lab.cloud.azure.schema import scale_set
from lab.desired import MachineState
from tests.lab.cloud import estate, sets
from tests.lab.cloud.conftest import GROUP, IMAGE, Live
from tests.lab.cloud.links import code


def test_a_set_makes_its_instances(live: Live) -> None:
    sets.build(live)
    shown = live.arm("GET", sets.SET).json()
    assert shown["properties"]["provisioningState"] == "Succeeded"
    assert "customData" not in shown["properties"]["virtualMachineProfile"]["osProfile"]
    assert shown["identity"]["type"] == "SystemAssigned"
    assert set(shown["identity"]) == {"type", "principalId", "tenantId"}
    first, second = sets.listed(live)
    assert (first["name"], first["instanceId"], first["zones"]) == ("lab-gpu_0", "0", ["1"])
    assert (second["properties"]["osProfile"]["computerName"], second["zones"]) == ("lab-gpu-000001", ["2"])
    assert (first["properties"]["latestModelApplied"], first["properties"]["provisioningState"]) == (True, "Succeeded")
    machines = live.hypervisor.world.machines
    assert [machine.name for machine in machines] == ["lab-gpu-000000", "lab-gpu-000001"]
    assert {machine.user_data for machine in machines} == {b"#cloud-config\n"}


def test_each_instance_has_its_addresses(live: Live) -> None:
    """One call lists the interfaces of a whole set, as the node controller asks for them."""
    sets.build(live)
    interfaces = sets.listed(live, "networkInterfaces")
    held = [
        [each["properties"]["privateIPAddress"] for each in one["properties"]["ipConfigurations"]] for one in interfaces
    ]
    assert [len(set(one)) for one in held] == [sets.ADDRESSES] * 2
    assert not set(held[0]) & set(held[1])
    first = live.hypervisor.world.machines[0]
    assert str(first.address.ip) == held[0][0]
    assert [str(one.network_address) for one in first.routed] == held[0][1:]
    primary = [each["properties"]["primary"] for each in interfaces[0]["properties"]["ipConfigurations"]]
    assert primary == [True] + [False] * (sets.ADDRESSES - 1)
    assert interfaces[0]["properties"]["virtualMachine"]["id"] == f"{sets.SET}/virtualMachines/0"
    assert code(live.arm("DELETE", estate.SUBNET)) == "InUseSubnetCannotBeDeleted"


def test_instances_are_being_made_until_they_run(live: Live) -> None:
    sets.build(live, 0)
    live.hypervisor.hold = asyncio.Event()
    response = live.arm("PATCH", sets.SET, {"sku": {"capacity": 1}})
    assert response.json()["properties"]["provisioningState"] == "Updating"
    assert sets.listed(live)[0]["properties"]["provisioningState"] == "Creating"
    live._loop.call_soon_threadsafe(live.hypervisor.hold.set)
    assert live.wait(response)["status"] == "Succeeded"
    assert live.arm("GET", sets.SET).json()["properties"]["provisioningState"] == "Succeeded"


def test_an_operation_goes_on_after_a_restart(live: Live) -> None:
    sets.build(live, 1)
    live.hypervisor.hold = asyncio.Event()
    response = live.arm("PATCH", sets.SET, {"sku": {"capacity": 2}})
    live.stop()
    live.hypervisor.hold = None
    live.start()
    assert live.wait(response)["status"] == "Succeeded"
    assert [one["properties"]["provisioningState"] for one in sets.listed(live)] == ["Succeeded"] * 2


def test_a_lower_capacity_balances_zones_and_ends_the_highest_numbers(live: Live) -> None:
    sets.build(live, 5)
    sets.scale(live, 3)
    assert sets.ids(live) == ["0", "1", "2"]
    sets.act(live, "delete", "1")
    assert (sets.ids(live), sets.capacity(live)) == (["0", "2"], 2)
    sets.scale(live, 3)
    assert sets.ids(live) == ["0", "2", "5"], "numbers are not given again"
    assert Counter(one["zones"][0] for one in sets.listed(live)) == {"1": 2, "2": 1}
    sets.scale(live, 1)
    assert sets.ids(live) == ["0"], "2 for the balance of zones; then 5 has the highest number"
    assert len(live.hypervisor.world.machines) == 1


def test_a_put_of_the_whole_set_sets_its_capacity(live: Live) -> None:
    """As in Azure, an old capacity that is sent along with a new tag shrinks the set."""
    sets.build(live, 1)
    sets.scale(live, 3)
    live.put(sets.SET, sets.body(1, tags={"team": "a"}))
    assert (sets.ids(live), sets.capacity(live)) == (["0"], 1)


def test_a_network_has_so_many_addresses(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_set, "MOST_ADDRESSES", 3 * sets.ADDRESSES)
    sets.build(live, 2)
    assert code(live.arm("PATCH", sets.SET, {"sku": {"capacity": 4}})) == "PrivateIPAddressLimitReached"
    assert len(sets.ids(live)) == 2


def test_a_put_without_properties_keeps_the_model(live: Live) -> None:
    """The cluster autoscaler sends name, location and SKU only."""
    sets.build(live, 1, tags={"team": "a"})
    sku = {"name": sets.SIZE, "tier": "Standard", "capacity": 2}
    live.put(sets.SET, {**estate.WHERE, "sku": sku})
    assert sets.latest(live) == [True, True]
    assert live.arm("GET", sets.SET).json()["tags"] == {"team": "a"}
    assert live.hypervisor.world.machines[1].user_data == b"#cloud-config\n"


@pytest.mark.parametrize(
    ("change", "new"),
    [({"data": b"other"}, True), ({"spot": ""}, False), ({"tags": {"a": "b"}}, False)],
    ids=["custom data", "nothing", "a tag"],
)
def test_a_new_model_is_for_new_instances(live: Live, change: dict[str, Any], new: bool) -> None:
    sets.build(live, 1)
    before = live.hypervisor.world.machines
    live.put(sets.SET, sets.body(1, **change))
    assert sets.latest(live) == [not new]
    assert live.hypervisor.world.machines == before
    sets.scale(live, 2)
    assert sets.latest(live) == [not new, True]


def test_an_instance_takes_a_model_over_and_is_then_made_anew(live: Live) -> None:
    """Fleet's two steps: manualupgrade, then reimage. The machine stays the same one, with a fresh disk."""
    sets.build(live, 2)
    live.put(sets.SET, sets.body(2, data=b"other"))
    before = {machine.name: machine for machine in live.hypervisor.world.machines}
    sets.act(live, "manualupgrade", "0")
    assert sets.latest(live) == [True, False]
    assert {machine.name: machine for machine in live.hypervisor.world.machines} == before
    ids = [one["properties"]["vmId"] for one in sets.listed(live)]
    response = live.arm("POST", f"{sets.SET}/virtualMachines/0/reimage", {})
    assert response.status_code == 202
    live.wait(response)
    after = {machine.name: machine for machine in live.hypervisor.world.machines}
    assert after["lab-gpu-000001"] == before["lab-gpu-000001"]
    changed = after["lab-gpu-000000"]
    assert (changed.user_data, changed.address) == (b"other", before["lab-gpu-000000"].address)
    assert changed.generation != before["lab-gpu-000000"].generation
    assert [one["properties"]["vmId"] for one in sets.listed(live)] == ids


def test_reimage_alone_does_not_apply_a_model(live: Live) -> None:
    """The disk is a fresh one of the model that the instance has, and "latest model" stays no."""
    sets.build(live, 1)
    generation = live.hypervisor.world.machines[0].generation
    live.put(sets.SET, sets.body(1, data=b"other"))
    sets.act(live, "reimage", "0")
    (machine,) = live.hypervisor.world.machines
    assert (machine.user_data, machine.generation != generation) == (b"#cloud-config\n", True)
    assert sets.latest(live) == [False]


@pytest.mark.parametrize("action", ["manualupgrade", "delete"])
def test_actions_name_instances_that_exist(live: Live, action: str) -> None:
    sets.build(live, 1)
    assert code(live.arm("POST", f"{sets.SET}/{action}", {})) == "InvalidParameter"
    unknown = live.arm("POST", f"{sets.SET}/{action}", {"instanceIds": ["7"]})
    assert "7 is not an active Virtual Machine Scale Set VM instanceId" in unknown.text
    assert sets.ids(live) == ["0"]


def test_a_protected_instance_outlives_a_lower_capacity(live: Live) -> None:
    sets.build(live, 3)
    sets.protect(live, "2", protectFromScaleIn=True)
    sets.scale(live, 1)
    assert sets.ids(live) == ["2"]
    refused = live.arm("PATCH", sets.SET, {"sku": {"capacity": 0}})
    assert (refused.status_code, code(refused)) == (409, "OperationNotAllowed")
    assert sets.capacity(live) == 1
    sets.act(live, "delete", "2")
    assert (sets.ids(live), sets.capacity(live)) == ([], 0), "a person's deletion is not blocked"


def test_protection_from_actions_of_the_set(live: Live) -> None:
    sets.build(live, 1)
    policy = {"properties": {"protectionPolicy": {"protectFromScaleIn": False, "protectFromScaleSetActions": True}}}
    assert code(live.arm("PUT", f"{sets.SET}/virtualMachines/0", policy, token=live.owner())) == "InvalidParameter"
    sets.protect(live, "0", protectFromScaleSetActions=True)
    assert sets.listed(live)[0]["properties"]["protectionPolicy"] == {
        "protectFromScaleIn": True,
        "protectFromScaleSetActions": True,
    }
    for action in ("manualupgrade", "reimage"):
        refused = live.arm("POST", f"{sets.SET}/{action}", {"instanceIds": ["0"]}, token=live.owner())
        assert code(refused) == "OperationNotAllowed"
    live.wait(live.arm("POST", f"{sets.SET}/virtualMachines/0/reimage", {}))
    sets.protect(live, "0")
    sets.act(live, "manualupgrade", "0")


def test_a_lab_that_holds_no_more_machines_is_a_cloud_without_capacity(live: Live) -> None:
    sets.build(live, 1)
    live.hypervisor.full = True
    ended = sets.scale(live, 2)
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "AllocationFailed")
    assert len(live.hypervisor.world.machines) == 1


@pytest.mark.parametrize("error", ["AllocationFailed", "OverconstrainedAllocationRequest", "ZonalAllocationFailed"])
def test_a_cloud_without_room_leaves_instances_that_failed(live: Live, error: str) -> None:
    sets.build(live, 1)
    sets.limit(live, 2, error)
    ended = sets.scale(live, 3)
    assert (ended["status"], ended["error"]["code"]) == ("Failed", error)
    assert live.arm("GET", sets.SET).json()["properties"]["provisioningState"] == "Failed"
    found = sets.listed(live, **{"$expand": "instanceView"})
    assert [one["properties"]["provisioningState"] for one in found] == ["Succeeded", "Succeeded", "Failed"]
    assert "Allocation failed" in found[2]["properties"]["instanceView"]["statuses"][0]["message"]
    assert (len(live.hypervisor.world.machines), sets.capacity(live)) == (2, 3)
    sets.act(live, "delete", "2")
    sets.limit(live, None)
    assert sets.scale(live, 3)["status"] == "Succeeded"


def test_a_quota_is_refused_before_anything_is_made(live: Live) -> None:
    sets.build(live, 1)
    sets.limit(live, 2, "QuotaExceeded")
    refused = live.arm("PATCH", sets.SET, {"sku": {"capacity": 3}})
    assert (refused.status_code, code(refused)) == (409, "QuotaExceeded")
    assert "Current Limit: 16, Current Usage: 8, Additional Required: 16" in refused.text
    assert (sets.ids(live), sets.capacity(live)) == (["0"], 1)
    with pytest.raises(ValueError, match="choose one of"):
        sets.limit(live, 2, "NoSuchError")


def test_a_full_subnet_is_refused(live: Live) -> None:
    sets.build(live, 1)
    assert code(live.arm("PATCH", sets.SET, {"sku": {"capacity": 15}})) == "SubnetIsFull"
    assert sets.ids(live) == ["0"]


def test_an_instance_that_does_not_come_up_says_why(live: Live) -> None:
    sets.build(live, 0)
    live.hypervisor.phases["lab-gpu-000000"] = MachineState(phase="failed", reason="cloud-init: no such file")
    ended = sets.scale(live, 1)
    assert ended["status"] == "Failed"
    assert "cloud-init: no such file" in ended["error"]["message"]
    assert sets.listed(live)[0]["properties"]["provisioningState"] == "Failed"


def test_a_set_goes_with_its_instances_and_its_group(live: Live) -> None:
    sets.build(live, 2)
    response = live.arm("DELETE", f"{sets.SET}/virtualMachines/0")
    assert response.status_code == 202
    live.wait(response)
    assert (sets.ids(live), sets.capacity(live)) == (["1"], 1)
    response = live.arm("DELETE", sets.SET)
    assert response.status_code == 202
    live.wait(response)
    assert live.hypervisor.world.machines == ()
    assert live.arm("GET", sets.SET).status_code == 404
    live.put(sets.SET, sets.body(1))
    live.wait(live.arm("DELETE", GROUP))
    assert live.hypervisor.world.machines == ()
    assert live.arm("GET", GROUP).status_code == 404


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"sku": {"name": "Standard_Nope", "capacity": 1}}, "InvalidParameter"),
        ({"sku": {"name": sets.SIZE, "capacity": 1001}}, "InvalidParameter"),
        ({"zones": ["1"]}, "PropertyChangeNotAllowed"),
        ({"location": "northeurope"}, "InvalidResourceReference"),
        ({"spot": "Delete"}, "PropertyChangeNotAllowed"),
        ({"image": IMAGE.replace("1.0.0", "9.9.9")}, "GalleryImageNotFound"),
        ({"data": b"x" * 65536}, "InvalidParameter"),
        ({"plan": {"name": "p"}}, "NotSupportedByLab"),
    ],
)
def test_what_azure_refuses(live: Live, change: dict[str, Any], expected: str) -> None:
    sets.build(live, 1)
    assert code(live.arm("PUT", sets.SET, sets.body(1, **change))) == expected
    assert sets.latest(live) == [True]


@pytest.mark.parametrize("key", ["orchestrationMode", "overprovision", "upgradePolicy"])
def test_defaults_that_the_lab_does_not_have_must_be_named(live: Live, key: str) -> None:
    estate.build(live, with_machine=False)
    body = sets.body()
    del body["properties"][key]
    assert code(live.arm("PUT", sets.SET, body)) == "InvalidParameter"


def test_a_set_is_too_large_for_one_placement_group(live: Live) -> None:
    estate.build(live, with_machine=False)
    body = sets.body(101)
    body["properties"]["singlePlacementGroup"] = True
    assert code(live.arm("PUT", sets.SET, body)) == "InvalidParameter"
