"""Restores of an etcd cluster that has a learner: it is told of, and stops nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.azure.errors import AzureError
from components.model import Role, load
from components.model.backups.section import Backups
from components.model.control_plane.etcd import EtcdLearner
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.restore.machines import Answer, PlaceMachines, RefusedStepError
from longhaul.vault.restore_record import RestoreState
from tests.longhaul.restore.test_restore import OTHER, Cloud
from tests.longhaul.restore.test_restore_changed import restoration


@pytest.fixture(name="with_learner")
def _with_learner(root: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    lab = load(root / "stacks" / "Pulumi.lab.yaml")
    control_plane = lab.control_plane
    learner = EtcdLearner(zone="2", machine_type="Standard_D8s_v5")
    etcd = control_plane.etcd.model_copy(update={"learner": learner})
    declared = {
        "control_plane": control_plane.model_copy(update={"etcd": etcd}),
        "backups": Backups(recipients=(OTHER,)),
    }
    return Cloud(lab.model_copy(update=declared), monkeypatch)


def test_a_learner_that_has_more_than_the_backup_is_told_of(with_learner: Cloud) -> None:
    name = "lab-etcd-learner"
    with_learner.answers[name] = with_learner.answer(name, revision=760)
    found = with_learner.prepare(roles=[Role.ETCD])
    (note,) = found.notes
    assert note.startswith(
        f"{name} has revision 760, 60 more than that backup: `longhaul backups --now --from-learner`"
    )
    assert [one.name for one in found.observed.learners] == [name]
    assert name not in [one.name for one in found.observed.members[Role.ETCD]]
    # No client may see a revision that the learner has told again.
    assert found.half.clusters["etcd"].bump == BUMP + 60
    with_learner.stored["daily"].append(with_learner.view(1, revision="760"))
    assert with_learner.prepare(roles=[Role.ETCD]).notes == []


@pytest.mark.parametrize(("size", "told"), [((8 << 30) - 1, False), (9 << 30, True)])
def test_a_backup_that_is_larger_than_the_quota_is_told_of(with_learner: Cloud, size: int, told: bool) -> None:
    with_learner.stored["daily"].append(with_learner.view(1, revision="760", size=str(size)))
    notes = with_learner.prepare(roles=[Role.ETCD]).notes
    assert len(notes) == told
    if told:
        assert "has 9.0 GiB, and the members' quota is 8" in notes[0]
        assert "`longhaul up --reclaim etcd --only infrastructure`" in notes[0]


def test_a_learner_that_is_silent_or_gone_stops_nothing(with_learner: Cloud) -> None:
    name = "lab-etcd-learner"
    with_learner.answers[name] = AzureError("no answer")
    assert with_learner.prepare(roles=[Role.ETCD]).observed.learners == ()
    del with_learner.power[name]
    assert with_learner.prepare(roles=[Role.ETCD]).observed.learners == ()


def test_a_learner_that_cannot_be_stopped_is_told_of_and_left_out(
    with_learner: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, said = "lab-etcd-learner", list[str]()
    run = restoration(with_learner, with_learner.prepare(roles=[Role.ETCD]), said)

    def ask(_fleet: PlaceMachines, machine: str, words: str, **_: Any) -> Answer:
        if machine == name and not words.startswith("restore look"):
            raise RefusedStepError("no disk is mounted")
        if words.startswith("restore look"):
            return with_learner.answer(machine)
        return {"cluster": "c1", "ready": True}

    monkeypatch.setattr(PlaceMachines, "ask", ask)
    run.run()
    half = run.book.last()
    assert half is not None
    assert half.state is RestoreState.DONE
    told = [line for line in said if line.startswith(f"{name}: not ")]
    assert [line.split(":")[1] for line in told] == [" not stopped, and left out", " not started, and left out"]
    assert all("no disk is mounted" in line for line in told)
