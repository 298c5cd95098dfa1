"""Steps of a restore that need neither etcd nor a backup: an API server's, and what waits meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from backup.snapshot import Programs
from backup.storage import Storage
from etcd.client import Etcdctl, EtcdMembers, EtcdMemberStatus, Member
from machine import longhaul_node as node
from restore import units
from restore.data import Data
from restore.record import Records, RestoreError
from restore.steps import Restore
from restore.units import CLIENTS, SERVER, Units

from contract.documents.node import NodeConfig
from contract.documents.restore import MachineLook, Record, Step
from contract.units import KUBE_APISERVER
from tests.images.restore_world import answered
from tests.support.programs import write_program

ADDRESS = "127.0.0.9"


def none() -> Storage:
    raise AssertionError("no backup is asked for")


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Callable[[str], Restore]:
    """Return a maker of machines whose systemctl notes what it is asked for."""
    systemctl = tmp_path / "systemctl"
    write_program(systemctl, f'#!/bin/sh\nprintf "%s\\n" "$*" >> {tmp_path}/asked\ntest ! -e {tmp_path}/refuses\n')

    def make(role: str) -> Restore:
        stores = {"etcd": {"lab-etcd-0": ADDRESS}, "events": {"lab-events-0": ADDRESS}}
        return Restore(
            node=NodeConfig(machine=f"lab-{role}-0", role=role, index=0, address=ADDRESS, version="1", stores=stores),
            etcdctl=Etcdctl(certificate=tmp_path, authority=tmp_path),
            data=Data(disk=tmp_path, programs=Programs()),
            storage=none,
            records=Records(folder=tmp_path / "restore"),
            units=Units(program=str(systemctl)),
            keys=tmp_path / "keys",
        )

    return make


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_an_api_server_is_held_until_the_end(machine: Callable[[str], Restore], tmp_path: Path) -> None:
    server = machine("api")
    assert MachineLook.of_document(answered(server, ["look"])) == MachineLook(machine="lab-api-0")
    for _ in range(2):
        assert answered(server, ["stop", "--id", "a"]) == {"stopped": True}
    assert answered(server, ["look"])["hold"] == "a"
    assert answered(server, ["finish", "--id", "a"]) == {"started": True}
    assert answered(server, ["look"])["hold"] == ""
    stopped = [f"stop {' '.join(CLIENTS)}", f"stop {KUBE_APISERVER}"]
    assert asked(tmp_path) == stopped * 2 + [f"start --no-block longhaul-api.target {' '.join(SERVER)}"]


def test_the_learner_joins_the_restored_etcd_cluster_without_its_data(
    machine: Callable[[str], Restore], tmp_path: Path
) -> None:
    member = machine("etcd")
    learner = replace(
        member,
        node=replace(member.node, machine="lab-etcd-learner", learner=True),
        data=replace(member.data, is_mounted=lambda _disk: True),
    )
    (tmp_path / "etcd").mkdir()
    (tmp_path / "etcd" / "member").touch()
    for _ in range(2):
        stopped = answered(learner, ["stop", "--id", "a"])
        assert stopped == {"stopped": True, "asides": [str(tmp_path / "etcd-aside-a")]}
    assert not (tmp_path / "etcd").exists()
    assert (tmp_path / "etcd-aside-a" / "member").exists()
    assert learner.records.holding_restore() == "a"
    assert answered(learner, ["finish", "--id", "a"])["asides"] == stopped["asides"]
    assert learner.records.holding_restore() == ""
    assert asked(tmp_path)[-2:] == [
        "start --no-block longhaul-etcd.target etcd.service",
        "restart longhaul-backup.timer",
    ]


def test_a_unit_that_does_not_stop_ends_the_step(machine: Callable[[str], Restore], tmp_path: Path) -> None:
    (tmp_path / "refuses").touch()
    assert "systemctl stop" in answered(machine("api"), ["stop", "--id", "a"])["error"]


def test_an_api_server_that_does_not_end_is_killed(
    machine: Callable[[str], Restore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without etcd it takes minutes."""
    monkeypatch.setattr(units, "END_S", 0.5)
    write_program(
        tmp_path / "systemctl",
        f"""#!/bin/sh
echo "$*" >> {tmp_path}/asked
case "$*" in
  "stop {KUBE_APISERVER}") test -e {tmp_path}/killed || exec sleep 600;;
  kill*) touch {tmp_path}/killed; exit 1;;
esac
""",
    )
    assert answered(machine("api"), ["stop", "--id", "a"]) == {"stopped": True}
    assert asked(tmp_path)[1:] == [
        f"stop {KUBE_APISERVER}",
        f"kill --signal=SIGKILL {KUBE_APISERVER}",
        f"stop {KUBE_APISERVER}",
    ]


def test_a_members_data_stays_when_no_disk_is_mounted(machine: Callable[[str], Restore], tmp_path: Path) -> None:
    (tmp_path / "etcd" / "member").mkdir(parents=True)
    member = machine("etcd")
    assert "no disk is mounted" in answered(member, ["stop", "--id", "a", "--backup", "b"])["error"]
    assert (tmp_path / "etcd" / "member").is_dir()
    assert answered(member, ["look"])["record"]["step"] == Step.BEGUN


def test_a_record_that_is_damaged_is_told(machine: Callable[[str], Restore], tmp_path: Path) -> None:
    member = machine("etcd")
    member.records.write(Record(id="a", backup="b"))
    (tmp_path / "restore" / "record").write_text("?")
    with pytest.raises(RestoreError, match="look at it, and remove it"):
        member.records.read()


def test_no_backup_is_made_by_hand_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = Records(folder=tmp_path)
    records.write(Record(id="a", backup="b"))
    monkeypatch.setattr(node, "Records", lambda: records)
    assert node._backup() == 1
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "a restore is half done" in told["error"]


@dataclass(frozen=True, kw_only=True)
class Alarmed(Etcdctl):
    """An etcd cluster of one member, with the alarms of these members."""

    alarmed: list[int]
    corrupt: bool = False

    def status(self, endpoint: str) -> EtcdMemberStatus:
        return EtcdMemberStatus(member=1, cluster=12, leader=1, learner=False, version="1", db_size=4, revision=7)

    def cluster(self, endpoint: str) -> EtcdMembers:
        own = Member(id=1, name="lab-etcd-0", learner=False, peer_urls=(), client_urls=(endpoint,))
        return EtcdMembers(id=12, members=(own,), endpoint=endpoint)

    def ailment(self, endpoint: str) -> str:
        return "Active Alarm(s): " if self.alarmed else ""

    def run(self, endpoint: str, *arguments: str) -> Any:
        if arguments == ("alarm", "disarm"):
            self.alarmed.clear()
        return {"alarms": [{"memberID": id_, "alarm": 2 if self.corrupt else 1} for id_ in self.alarmed]}


@pytest.mark.parametrize(
    ("alarmed", "corrupt", "lifted"),
    [([], False, []), ([5, 6], False, ["NOSPACE"]), ([0], True, ["CORRUPT"]), ([5, 1], False, None)],
    ids=["none", "of the members that were", "of nobody", "of a member that is"],
)
def test_alarms_that_came_with_the_backup_are_lifted(
    machine: Callable[[str], Restore],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    alarmed: list[int],
    corrupt: bool,
    lifted: list[str] | None,
) -> None:
    monkeypatch.setattr(Data, "cluster", lambda _: "c")
    alarmed = [*alarmed]
    etcdctl = Alarmed(certificate=tmp_path, authority=tmp_path, alarmed=alarmed, corrupt=corrupt)
    member = replace(machine("etcd"), etcdctl=etcdctl)
    member.records.write(Record(id="r1", backup="b", step=Step.STARTED, cluster="c"))
    words = ["start", "--id", "r1", "--wait", "0"]
    if lifted is None:
        assert "does not commit" in answered(member, words)["error"]
    else:
        assert answered(member, words)["lifted"] == lifted
        assert alarmed == []
