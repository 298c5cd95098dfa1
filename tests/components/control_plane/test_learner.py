"""The learner of the main etcd cluster as it is declared: what it waits for, what it changes, and when it may go."""

from __future__ import annotations

import re
from functools import cache

import pytest

from components.control_plane.replacement import GuardRefusedError
from components.environment.cluster import Cluster
from components.guards import immutable as immutable_guard
from components.model import Environment, control_machines, load, plan
from components.model.backups.section import Backups
from components.model.control_plane.etcd import EtcdLearner
from components.model.control_plane.learner import learner_cautions
from components.model.loading.cautions import cautions
from components.render import files
from contract.reasons.plan import FileReason
from tests.support.declared import Program, declare, plain
from tests.support.hosts import STACKS
from tests.support.whole import cloud, without_hooks

MACHINE = "azure-native:compute:VirtualMachine"
DISK = "azure-native:compute:Disk"
READINESS = "pulumi-python:dynamic/longhaul:Readiness"
NAME = "lab-etcd-learner"
KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
UNIT = STACKS.parent / "images/rootfs/etc/systemd/system/etcd.service"
VOTERS = {f"lab-etcd-{index}" for index in range(3)}


def lab(*, zone: str | None = "2", members: int = 3, machine_type: str = "Standard_D16s_v5") -> Environment:
    """Return the lab's control plane alone; ``zone``: the learner's, None without a learner."""
    found = load(STACKS / "Pulumi.lab.yaml")
    learner = EtcdLearner(zone=zone, machine_type=machine_type) if zone else None
    etcd = found.control_plane.etcd.model_copy(update={"learner": learner, "members": members})
    control = found.control_plane.model_copy(update={"etcd": etcd})
    site = {control.site: found.sites[control.site]}
    return found.model_copy(update={"sites": site, "pools": {}, "hosts": (), "control_plane": control})


@cache
def program(*, zone: str | None = "2") -> Program:
    with without_hooks():
        return declare(lambda: Cluster(lab(zone=zone)).outputs, answer=cloud)


def test_it_is_made_once_the_cluster_is_there_and_nothing_waits_for_it() -> None:
    (machine,) = [one for one in program().of(MACHINE) if one.name == NAME]
    assert machine.after >= {f"{voter}-ready" for voter in VOTERS} | {"lab-etcd-founded"}
    for other in (*program().of(MACHINE), *program().of(READINESS)):
        if not other.name.startswith(NAME):
            assert not {NAME, f"{NAME}-ready"} & other.after, other.name
    (founded,) = [one for one in program().clouds() if one.name == "lab-etcd-founded"]
    assert f"{NAME}-ready" not in founded.after


def test_its_disk_is_attached_in_its_zone_and_stays_when_the_machine_goes() -> None:
    (machine,) = [one for one in program().of(MACHINE) if one.name == NAME]
    (disk,) = program().of(DISK)
    assert (plain(disk.inputs["zones"]), plain(machine.inputs["zones"])) == (["2"], ["2"])
    (attached,) = plain(machine.inputs["storageProfile"])["dataDisks"]
    assert attached["managedDisk"]["id"].endswith(f"/{NAME}-data") or disk.name in attached["managedDisk"]["id"]
    wanted = {"lun": 0, "createOption": "Attach", "deleteOption": "Detach", "caching": "None"}
    assert {key: attached[key] for key in wanted} == wanted


def test_declaring_it_changes_nothing_else() -> None:
    """Everything else that the program makes, user-data of machines included, is as it was without a learner."""
    with_it, without = (
        {(one.type, one.name): plain(one.inputs) for one in program(zone=zone).clouds() if NAME not in one.name}
        for zone in ("2", None)
    )
    assert with_it == without
    assert {one.name for one in program().of(MACHINE)} - {one.name for one in program(zone=None).of(MACHINE)} == {NAME}


def test_its_etcd_alone_has_no_quota() -> None:
    """A learner cannot be told to make room, and its alarm would stop the writes of all."""
    environment = lab()
    addresses = plan(environment)
    quota = {}
    for machine in control_machines(environment, addresses):
        if machine.role.is_etcd:
            text = files(environment, addresses, machine)["/etc/longhaul/etcd.env"].content
            quota[machine.name] = int(re.findall(r"^ETCD_QUOTA_BACKEND_BYTES=(.*)$", text, flags=re.MULTILINE)[0])
    assert quota.pop(NAME) == -1
    assert set(quota.values()) == {8 * 2**30}
    assert set(quota) >= VOTERS


def test_its_disk_goes_with_it_alone() -> None:
    with pytest.raises(GuardRefusedError, match="the learner is removed from the file"):
        immutable_guard.check_deletion(lab(), type_=DISK, name="it", inputs={})
    immutable_guard.check_deletion(lab(zone=None), type_=DISK, name="it", inputs={})


def test_every_member_takes_it_beside_one_that_joins() -> None:
    assert "\nEnvironment=ETCD_MAX_LEARNERS=2\n" in UNIT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("members", "zone", "better"),
    [(3, "1", ""), (5, "3", ""), (5, "1", "zone 1 has 2 voting members, and 3 only 1"), (7, "1", "2 and 3 only 2")],
)
def test_a_zone_with_fewer_members_is_told(members: int, zone: str, better: str) -> None:
    found = [
        one.wrong for one in learner_cautions(lab(zone=zone, members=members)) if one.reason is FileReason.LEARNER_ZONE
    ]
    assert (len(found) == 1 and better in found[0]) if better else found == []


def test_a_learner_from_which_nothing_can_be_restored_is_told() -> None:
    reason = FileReason.LEARNER_WITHOUT_BACKUPS
    (told,) = [one for one in cautions(lab()) if one.reason is reason]
    assert "without backups nothing can be restored from it" in told.wrong
    saved = lab().model_copy(update={"backups": Backups(recipients=(KEY,))})
    assert reason not in {one.reason for one in learner_cautions(saved)}
    assert reason not in {one.reason for one in learner_cautions(lab(zone=None))}


@pytest.mark.parametrize(("machine_type", "told"), [("Standard_D8s_v5", True), ("Standard_D16s_v5", False)])
def test_a_learner_with_less_memory_than_the_members_is_told(machine_type: str, told: bool) -> None:
    found = {one.reason: one.wrong for one in learner_cautions(lab(machine_type=machine_type))}
    assert (FileReason.LEARNER_MEMORY in found) == told
    if told:
        expected = "Standard_D8s_v5 has 32 GiB of memory, and the voting members have 64"
        assert found[FileReason.LEARNER_MEMORY] == expected
