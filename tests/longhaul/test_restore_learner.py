"""Restores of an etcd cluster that has a learner: it is told of, and stops nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from clouds.azure.session import AzureError
from components.model import Role, load
from components.model.backups import Backups
from components.model.environment import EtcdLearner
from longhaul.backups.opened import BUMP
from tests.longhaul.test_restore import OTHER, Cloud


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
    assert [one.name for one in found.seen.learners] == [name]
    assert name not in [one.name for one in found.seen.members[Role.ETCD]]
    # No client may see a revision that the learner has told again.
    assert found.half.clusters["etcd"].bump == BUMP + 60
    with_learner.stored["daily"].append(with_learner.view(1, revision="760"))
    assert with_learner.prepare(roles=[Role.ETCD]).notes == []


def test_a_learner_that_is_silent_or_gone_stops_nothing(with_learner: Cloud) -> None:
    name = "lab-etcd-learner"
    with_learner.answers[name] = AzureError("no answer")
    assert with_learner.prepare(roles=[Role.ETCD]).seen.learners == ()
    del with_learner.power[name]
    assert with_learner.prepare(roles=[Role.ETCD]).seen.learners == ()
