"""Network disks: they outlive their machines, belong to one at a time, and are in a zone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from lab.hypervisor.network_disks import folder_of, remove_all_but
from lab.state import LabState
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import Live
from tests.support.project import eventually

DISK = f"{estate.PROVIDERS}/Microsoft.Compute/disks/data"
BODY: dict[str, Any] = {
    **estate.WHERE,
    "sku": {"name": "PremiumV2_LRS"},
    "zones": ["2"],
    "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 64, "networkAccessPolicy": "DenyAll"},
}


def machine(*, zone: str = "2", **attached: Any) -> dict[str, Any]:
    """Return a machine with the disk."""
    body = copy.deepcopy(estate.machine())
    disk = {"lun": 0, "createOption": "Attach", "deleteOption": "Detach", "caching": "None"}
    body["properties"]["storageProfile"]["dataDisks"] = [{**disk, "managedDisk": {"id": DISK}, **attached}]
    return {**body, "zones": [zone]}


def refusal(live: Live, method: str, path: str, body: dict[str, Any] | None = None) -> str:
    answer = live.arm(method, path, body) if body else live.arm(method, path)
    assert answer.status_code >= 400, answer.json()
    return f"{answer.json()['error']['code']}: {answer.json()['error']['message']}"


def test_a_disk_outlives_its_machine_and_another_one_of_its_name_is_another(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(DISK, BODY)
    live.put(estate.VM, machine())
    (first,) = live.hypervisor.world.network_disks
    assert live.hypervisor.world.machines[0].network_disk == first
    assert live.arm("GET", DISK).json()["properties"]["diskState"] == "Attached"
    assert "OperationNotAllowed: Disk data is attached to VM" in refusal(live, "DELETE", DISK)
    live.wait(live.arm("DELETE", estate.VM))
    assert live.hypervisor.world.network_disks == {first}
    live.put(estate.VM, machine())
    assert live.hypervisor.world.machines[0].network_disk == first
    live.wait(live.arm("DELETE", estate.VM))
    assert live.arm("DELETE", DISK).status_code < 300
    eventually(lambda: not live.hypervisor.world.network_disks)
    live.put(DISK, BODY)
    live.put(estate.VM, machine())
    assert live.hypervisor.world.machines[0].network_disk not in ("", first)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (machine(zone="1"), "the virtual machine is in zone '1' and the disk is in zone '2'"),
        (machine(managedDisk={"id": f"{DISK}-that-is-not-there"}), "InvalidResourceReference"),
        (machine(caching="ReadOnly"), "caching"),
        (machine(createOption="Empty"), "createOption"),
        (machine(deleteOption="Delete"), "deleteOption"),
        (machine(lun=1), "lun"),
    ],
    ids=["zone", "none", "cached", "made", "deleted", "lun"],
)
def test_what_azure_or_the_lab_does_not_attach_is_refused(live: Live, body: dict[str, Any], said: str) -> None:
    estate.build(live, with_machine=False)
    live.put(DISK, BODY)
    assert said in refusal(live, "PUT", estate.VM, body)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"zones": ["3"]}, "PropertyChangeNotAllowed"),
        ({"zones": ["7"]}, "InvalidAvailabilityZone"),
        ({"zones": []}, "zones"),
        ({"sku": {"name": "Premium_LRS"}}, "sku"),
        ({"properties": {**BODY["properties"], "diskSizeGB": 32}}, "cannot become 32 GiB"),
        ({"properties": {**BODY["properties"], "burstingEnabled": True}}, "burstingEnabled"),
    ],
    ids=["moved", "no zone", "regional", "another kind", "smaller", "unknown"],
)
def test_what_a_disk_cannot_become_is_refused(live: Live, change: dict[str, Any], said: str) -> None:
    estate.build(live, with_machine=False)
    live.put(DISK, BODY)
    assert said in refusal(live, "PUT", DISK, {**BODY, **change})
    live.put(DISK, {**BODY, "properties": {**BODY["properties"], "diskSizeGB": 128}})


def test_the_folder_of_a_disk_stays_as_long_as_the_cloud_has_the_disk(tmp_path: Path) -> None:
    state = LabState(root=tmp_path, env="lab")
    (folder_of(state, "one") / "data").write_text("kept")
    folder_of(state, "two")
    remove_all_but(state, frozenset({"one"}))
    assert (folder_of(state, "one") / "data").read_text() == "kept"
    assert [entry.name for entry in state.network_disks.iterdir()] == ["one"]
