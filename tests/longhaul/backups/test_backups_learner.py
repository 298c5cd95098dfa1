"""A backup by the learner: what is asked of it, and when nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.azure.control import AzureControlAccess
from clouds.base.control import CommandOutput
from components.model import Environment, Role, load
from components.model.backups.section import Backups
from components.model.control_plane.etcd import EtcdLearner
from contract.documents.node_answers import BackupState, NewestBackup, to_text
from longhaul.backups.on_demand import back_up, check_learner
from longhaul.terminal.exits import CommandError, Exit

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


def lab(root: Path, *, learner: bool = True) -> Environment:
    found = load(root / "stacks" / "Pulumi.lab.yaml")
    declared = EtcdLearner(zone="2", machine_type="Standard_D8s_v5") if learner else None
    etcd = found.control_plane.etcd.model_copy(update={"learner": declared})
    control_plane = found.control_plane.model_copy(update={"etcd": etcd})
    return found.model_copy(update={"control_plane": control_plane, "backups": Backups(recipients=(KEY,))})


def answering(patch: pytest.MonkeyPatch, state: BackupState) -> list[str]:
    asked: list[str] = []

    def run(_place: Any, machine: str, command: str, *, timeout_s: float) -> CommandOutput:
        asked.append(f"{machine}: {command}")
        return CommandOutput(stdout=to_text(state), stderr="")

    patch.setattr(AzureControlAccess, "run_command", staticmethod(run))
    return asked


def test_the_learner_alone_is_asked_and_asks_nobody(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = NewestBackup(name="hourly/etcd/b", made=1.0, size=2, revision=3, keys=4)
    asked = answering(monkeypatch, BackupState(declared=True, looked=1.0, newest=made))
    assert back_up(lab(root), Role.ETCD, from_learner=True) == "hourly/etcd/b"
    assert asked == ["lab-etcd-learner: longhaul-node backup --without-quorum"]


def test_without_being_told_the_learner_is_asked_first_and_then_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, BackupState(declared=True, looked=1.0, error="it is away"))
    with pytest.raises(CommandError, match="lab-etcd-learner: it is away"):
        back_up(lab(root), Role.ETCD)
    assert asked == [f"lab-etcd-{name}: longhaul-node backup" for name in ("learner", "0", "1", "2")]
    asked.clear()
    with pytest.raises(CommandError):
        back_up(lab(root), Role.EVENTS)
    assert [one.partition(":")[0] for one in asked] == [f"lab-events-{index}" for index in range(3)]


@pytest.mark.parametrize(
    ("now", "roles", "learner", "said"),
    [
        (False, [Role.ETCD], True, "--from-learner chooses the member that makes a backup: it needs --now"),
        (True, [Role.EVENTS], True, "the events etcd has no learner"),
        (True, [Role.ETCD, Role.EVENTS], False, "lab has no learner: its file has no control_plane.etcd.learner"),
    ],
    ids=["not now", "events", "none declared"],
)
def test_what_cannot_be_meant_is_refused(root: Path, now: bool, roles: list[Role], learner: bool, said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        check_learner(lab(root, learner=learner), now=now, roles=roles)
    assert refused.value.code is Exit.USAGE
