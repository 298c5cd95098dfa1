"""Quarantine of a scale set's machine, against the lab's Azure."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.azure import quarantine
from clouds.azure.live_groups import AzureGroup
from clouds.azure.quarantine import AzurePoolQuarantine
from clouds.azure.resource_manager import ResourceManager
from clouds.base.quarantine import Suspect
from tests.lab.cloud import sets
from tests.lab.cloud.conftest import GROUP, Live
from tests.lab.cloud.links import code
from tests.lab.cloud.operator import Operator

NODE = "lab-gpu-000000"
SNAPSHOT = f"{GROUP}/providers/Microsoft.Compute/snapshots/{NODE}-quarantine"

QUARANTINE = AzurePoolQuarantine()


@pytest.fixture(name="operator")
def _operator(live: Live, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """The operator, and a set of two machines."""
    operator = Operator(live)
    group = AzureGroup("lab-gpu", resource_group=GROUP, session=operator)
    monkeypatch.setattr(quarantine, "ResourceManager", lambda: ResourceManager(operator))
    monkeypatch.setattr(quarantine, "live_groups", lambda _place, _pool: {"lab-gpu": group})
    monkeypatch.setattr(quarantine, "resource_group_path", lambda _place: GROUP)
    sets.build(live)
    return operator


def suspect() -> Suspect:
    place: Any = None
    found = QUARANTINE.find(place, "gpu", NODE)
    assert found is not None
    return found


def names(live: Live) -> list[str]:
    return [one["properties"]["osProfile"]["computerName"] for one in sets.listed(live)]


def test_a_machine_is_copied_powered_off_and_replaced(live: Live, operator: Operator) -> None:
    place: Any = None
    found = suspect()
    assert (found.group, found.machine, found.wanted) == ("lab-gpu", "0", 2)
    assert QUARANTINE.keep(place, found) == (SNAPSHOT,)
    QUARANTINE.isolate(place, found)
    assert ("POST", "powerOff?api-version=2024-07-01&skipShutdown=true") in operator.asked
    assert [machine.name for machine in live.hypervisor.world.machines if machine.running] == ["lab-gpu-000001"]
    made = live.arm("GET", SNAPSHOT).json()
    disk = made["properties"]["creationData"]["sourceResourceId"]
    assert disk.startswith(f"{GROUP}/providers/Microsoft.Compute/disks/lab-gpu_0_OsDisk_1_")
    assert (made["properties"]["networkAccessPolicy"], made["properties"]["publicNetworkAccess"]) == (
        "DenyAll",
        "Disabled",
    )
    QUARANTINE.replace(place, found)
    assert names(live) == ["lab-gpu-000001", "lab-gpu-000002"]
    assert live.arm("GET", SNAPSHOT).json()["properties"]["provisioningState"] == "Succeeded"


def test_every_step_may_be_repeated(live: Live, operator: Operator) -> None:
    place: Any = None
    found = suspect()
    for _ in range(2):
        QUARANTINE.keep(place, found)
        QUARANTINE.isolate(place, found)
    assert len([one for one in operator.asked if one[0] == "POST"]) == 1
    QUARANTINE.replace(place, found)
    for _ in range(2):
        assert QUARANTINE.keep(place, found) == (SNAPSHOT,)
        QUARANTINE.isolate(place, found)
        QUARANTINE.replace(place, found)
    assert names(live) == ["lab-gpu-000001", "lab-gpu-000002"]
    for _ in range(2):
        QUARANTINE.release(place, (SNAPSHOT,))
    assert code(live.arm("GET", SNAPSHOT)) == "ResourceNotFound"


def test_a_larger_set_stays_as_large(live: Live, operator: Operator) -> None:
    place: Any = None
    found = suspect()
    live.wait(live.arm("PATCH", sets.SET, {"sku": {"capacity": 4}}))
    QUARANTINE.replace(place, found)
    assert len(names(live)) == 3
    assert not [one for one in operator.asked if one[0] == "PATCH"]


def test_without_machine_and_snapshot_nothing_is_kept_and_every_step_goes_on(live: Live, operator: Operator) -> None:
    place: Any = None
    found = suspect()
    QUARANTINE.replace(place, found)
    asked = len(operator.asked)
    assert QUARANTINE.keep(place, found) == ()
    QUARANTINE.isolate(place, found)
    QUARANTINE.replace(place, found)
    assert {method for method, _ in operator.asked[asked:]} == {"GET"}
    assert names(live) == ["lab-gpu-000001", "lab-gpu-000002"]
    QUARANTINE.release(place, ())


def test_a_snapshot_needs_a_disk_that_is_there(live: Live) -> None:
    sets.build(live, 1)
    creation = {"createOption": "Copy", "sourceResourceId": f"{GROUP}/providers/Microsoft.Compute/disks/none"}
    refused = live.arm("PUT", SNAPSHOT, {"location": "westeurope", "properties": {"creationData": creation}})
    assert code(refused) == "NotFound"
