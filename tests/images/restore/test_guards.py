"""Steps of a restore that a member refuses, takes back, or makes sure of on its disk. Without etcd."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from etcd.client import Etcdctl, EtcdMembers
from restore.steps import Restore

from contract.documents.restore import Record, Step
from tests.images.restore.test_steps import _machine
from tests.images.restore_world import answered

__all__ = ["_machine"]

Make = Callable[[str], Restore]


def with_disk(machine: Make) -> Restore:
    member = machine("etcd")
    member.keys.mkdir()
    keygen = member.keys / "keygen"
    keygen.write_text("#!/bin/sh\necho age1\n")
    keygen.chmod(0o755)
    (member.keys / "key").touch()
    (member.data.folder / "member").mkdir(parents=True)
    return replace(member, data=replace(member.data, is_mounted=lambda _disk: True), keygen=str(keygen))


def test_a_member_that_has_a_quorum_is_stopped_only_when_that_is_said(
    machine: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = with_disk(machine)
    monkeypatch.setattr(Etcdctl, "first_cluster", lambda *_: EtcdMembers(id=0xC0, members=(), endpoint=""))
    words = ["stop", "--id", "a", "--backup", "b"]
    said = answered(member, words)["error"]
    assert "has a quorum (cluster c0), so its data stays" in said
    assert (member.records.read(), member.records.holding_restore(), member.data.folder.exists()) == (None, "", True)
    assert answered(member, [*words, "--although-healthy"])["step"] == Step.STOPPED
    # What is stopped is gone on with, whoever has a quorum.
    assert answered(member, words)["step"] == Step.STOPPED


def test_a_restore_is_given_up_before_there_is_new_data(machine: Make) -> None:
    member = with_disk(machine)
    stop, give_up = ["stop", "--id", "a", "--backup", "b"], ["give-up", "--id", "a"]
    assert answered(member, stop)["step"] == Step.STOPPED
    assert not member.data.folder.exists()
    for _ in range(2):
        assert "error" not in answered(member, give_up)
        assert (member.data.folder / "member").is_dir()
        assert (member.records.read(), member.records.holding_restore(), member.data.asides()) == (None, "", [])
    answered(member, stop)
    member.records.write(Record(id="a", backup="b", step=Step.REBUILT, cluster="c1"))
    assert "has made new data here: go on with it" in answered(member, give_up)["error"]
    assert member.records.holding_restore() == "a"


@pytest.mark.parametrize("step", [Step.REBUILT, Step.STARTED])
def test_a_member_whose_new_data_is_gone_is_no_further_than_stopped(machine: Make, step: Step) -> None:
    member = with_disk(machine)
    answered(member, ["stop", "--id", "a", "--backup", "b"])
    member.records.write(Record(id="a", backup="b", step=step, cluster="c1"))
    record = answered(member, ["look"])["record"]
    assert (record["step"], record["noted"]) == (Step.STOPPED, step)
    again = answered(member, ["stop", "--id", "a", "--backup", "b"])
    assert (again["step"], again["recipient"]) == (Step.STOPPED, "age1")


def test_a_member_that_joins_ends_the_restore_without_a_record(machine: Make) -> None:
    member = with_disk(machine)
    assert "has not come to this step" in answered(member, ["finish", "--id", "a"])["error"]
    assert answered(member, ["finish", "--id", "a", "--joined"])["step"] == Step.FINISHED
    assert answered(member, ["look"])["record"]["step"] == Step.FINISHED


def test_that_data_was_moved_is_on_the_disk_before_it_is_noted(machine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    member = with_disk(machine)
    synced: list[tuple[Path, int | None]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        record = member.records.read()
        synced.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")), record.step if record else None))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    answered(member, ["stop", "--id", "a", "--backup", "b"])
    assert (member.data.disk, Step.BEGUN) in synced
