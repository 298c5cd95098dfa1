"""Restores of what has changed since: a stale backup, an etcd cluster that came back, another operator's restore."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from components.model import Role
from contract.documents.restore import Step
from longhaul.backups.on_demand import revision_warning
from longhaul.etcd_backups.choice import FAR, choose_backup
from longhaul.etcd_backups.listing import control_access
from longhaul.restore.file_key import SealedBackup
from longhaul.restore.give_up import given_up
from longhaul.restore.loss import loss_text, revisions_lost
from longhaul.restore.machine_states import ObservedMember, ObservedPlane, may_go_on
from longhaul.restore.machines import PlaceMachines
from longhaul.restore.preparation import Prepared
from longhaul.restore.steps import Restoration
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import RestoreRecords, RestoreState, refuse_half_restored
from tests.longhaul.restore.test_restore import HALF, Cloud, _cloud, backup, half_done

__all__ = ["_cloud"]

STALE = backup(0, revision=500)


def test_a_backup_that_was_made_last_by_who_was_behind_is_not_taken() -> None:
    found = [STALE, backup(5), backup(9, revision=2**62), backup(9, revision=9999, flaw="it is empty")]
    assert choose_backup("etcd", found, at=None, names=[]).name == backup(5).name
    assert choose_backup("etcd", found, at=None, names=[STALE.name]) == STALE
    assert choose_backup("etcd", found, at=STALE.made, names=[]) == STALE
    assert choose_backup("etcd", [STALE, backup(5, revision=500 + FAR + 1)], at=None, names=[]) == STALE


def test_who_saves_less_than_there_is_is_told() -> None:
    assert revision_warning(STALE.name, [STALE, backup(5)]).startswith(
        f"{STALE.name} has revision 500, and {backup(5).name} has 700"
    )
    assert revision_warning(backup(5).name, [STALE, backup(5), backup(1, etcd="events", revision=900)]) == ""


def test_the_loss_is_measured_by_backups_too(cloud: Cloud) -> None:
    cloud.stored["daily"].append(cloud.view(0, revision="500"))
    found = cloud.prepare(roles=[Role.ETCD])
    assert found.half.clusters["etcd"].backup == cloud.name(5)
    (note,) = found.notes
    assert (
        f"{cloud.name(0)} was made later, and has revision 500, 200 less than {cloud.name(5)}, which is taken" in note
    )
    stale = cloud.prepare(roles=[Role.ETCD], names=[cloud.name(0)])
    said = f"at least 200 revisions, since {cloud.name(5)} has revision 700"
    assert said in loss_text(stale.half, stale.backups, stale.observed)
    # A member that has less than the backup does not know what was lost.
    first = cloud.of(Role.ETCD)[0]
    cloud.answers[first] = cloud.answer(first, revision=500)
    found = cloud.prepare(roles=[Role.ETCD])
    assert revisions_lost(Role.ETCD, found.backups[Role.ETCD], found.observed, found.half) is None


def restoration(cloud: Cloud, found: Prepared, said: list[str]) -> Restoration:
    control, place = control_access(cloud.environment)
    return Restoration(
        half=found.half,
        sealed={role: SealedBackup(backup=one, skip=0, file_key=bytes(16)) for role, one in found.backups.items()},
        observed=found.observed,
        fleet=PlaceMachines(control=control, place=place),
        book=RestoreRecords(control=control, place=place, environment=cloud.environment),
        before=found.before,
        say=said.append,
    )


def has_quorum(cloud: Cloud, role: Role, **more: Any) -> None:
    for name in cloud.of(role):
        revisions = {"quorum": True, "revision": 800, "cluster": "c0", **more}
        cloud.answers[name] = cloud.answer(name, **revisions)


def test_an_etcd_cluster_that_came_back_before_the_answer_is_left_alone(cloud: Cloud) -> None:
    found, said = cloud.prepare(roles=[Role.ETCD]), list[str]()
    has_quorum(cloud, Role.ETCD)
    with pytest.raises(CommandError, match="etcd: there is a quorum again, so nothing was done") as refused:
        restoration(cloud, found, said).run()
    assert (refused.value.code, said, cloud.secrets) == (Exit.REFUSED, [], {})


@pytest.mark.parametrize("state", RestoreState)
def test_another_operators_restore_is_not_replaced(cloud: Cloud, state: RestoreState) -> None:
    found, said = cloud.prepare(roles=[Role.ETCD]), list[str]()
    run = restoration(cloud, found, said)
    run.book.write(replace(HALF, state=state))
    with pytest.raises(CommandError, match="another run has begun or ended a restore meanwhile") as refused:
        run.run()
    assert (refused.value.code, said, run.book.last()) == (Exit.REFUSED, [], replace(HALF, state=state))


def at(cloud: Cloud, *steps: int, **more: Any) -> None:
    for name, step in zip(cloud.of(Role.ETCD), steps, strict=True):
        record = {"id": "abc", "backup": cloud.name(5), "step": step, "cluster": "c1"} if step >= 0 else None
        cloud.answers[name] = cloud.answer(name, record=record, **more)


def test_a_half_done_restore_does_not_go_on_over_a_healthy_etcd_cluster(cloud: Cloud) -> None:
    half_done(cloud)
    at(cloud, 0, 0, -1, quorum=True, cluster="c0", revision=800)
    with pytest.raises(CommandError, match=r"there is a quorum, so nothing is lost(.|\n)*--give-up"):
        cloud.prepare(roles=[Role.ETCD])
    # Without one, it is chosen afresh: nothing was stopped.
    at(cloud, 0, 0, -1)
    cloud.stored["daily"].append(cloud.view(1, revision="720"))
    found = cloud.prepare(roles=[Role.ETCD])
    assert found.half.id != "abc"
    assert found.half.clusters["etcd"].backup == cloud.name(1)
    # Some members are stopped, and the others came back.
    at(cloud, 1, -1, -1, quorum=True, cluster="c0", revision=800)
    with pytest.raises(CommandError, match=r"a quorum again, so the restore abc does not continue: .*--give-up"):
        cloud.prepare()
    assert cloud.prepare(although_healthy=True).half.although_healthy


def test_a_machine_that_is_made_anew_joins_what_was_restored(cloud: Cloud) -> None:
    half_done(cloud)
    at(cloud, 3, 3, -1, quorum=True, cluster="c1", revision=800)
    last = cloud.of(Role.ETCD)[2]
    found = cloud.prepare()
    assert found.half.id == "abc"
    assert f"etcd is restored and has a quorum: {last} joins it without the backup" in found.notes
    run, asked = restoration(cloud, found, []), list[tuple[str, str]]()

    def answer(words: dict[str, str], **_: Any) -> dict[str, Any]:
        asked.extend(words.items())
        return {name: {"cluster": "c1", "ready": True} for name in words}

    object.__setattr__(
        run, "fleet", type("Told", (), {"ask_all_or_fail": staticmethod(answer), "ask_all": staticmethod(answer)})
    )
    run.run()
    assert [words for name, words in asked if name == last] == ["restore finish --id abc --joined"]
    assert not [words for _, words in asked if words.startswith(("restore stop", "restore rebuild"))]
    # Another etcd cluster's quorum counts for nothing.
    half_done(cloud)
    at(cloud, 3, 3, -1, quorum=True, cluster="c0", revision=800)
    with pytest.raises(CommandError, match="there is a quorum"):
        cloud.prepare()


def test_new_data_that_is_lost_after_its_start_is_not_made_again() -> None:
    gone = [
        ObservedMember(name=str(n), quorum=False, revision=0, id="abc", step=Step.STOPPED, noted=Step.STARTED)
        for n in range(3)
    ]
    assert not may_go_on(HALF, ObservedPlane(members={Role.ETCD: gone}, servers=()))
    never = [replace(one, noted=Step.REBUILT) for one in gone]
    assert may_go_on(HALF, ObservedPlane(members={Role.ETCD: never}, servers=()))


def test_a_restore_is_given_up_only_before_there_is_new_data(cloud: Cloud) -> None:
    control, place = control_access(cloud.environment)
    book, fleet = (
        RestoreRecords(control=control, place=place, environment=cloud.environment),
        PlaceMachines(control=control, place=place),
    )
    with pytest.raises(CommandError, match="no restore is incomplete"):
        given_up(book, fleet, lambda _half: None)
    half = half_done(cloud)
    at(cloud, 1, 2, 1)
    with pytest.raises(CommandError, match=f"{cloud.of(Role.ETCD)[1]}: the restore abc has made new data there"):
        given_up(book, fleet, lambda _half: None)
    at(cloud, 1, 1, -1)
    assert given_up(book, fleet, lambda _half: None) == half
    assert book.last() == replace(half, state=RestoreState.DONE)


@pytest.mark.parametrize(
    ("answer", "said"),
    [("?", "look at it, and delete it"), (AzureError("busy", status=503), "busy"), (AzureError("nobody"), None)],
    ids=["damaged", "busy", "unreachable"],
)
def test_up_does_not_pass_a_damaged_record(
    cloud: Cloud, answer: Any, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def secret(*_: Any) -> str:
        if isinstance(answer, AzureError):
            raise answer
        return str(answer)

    monkeypatch.setattr(AzureControlAccess, "secret", staticmethod(secret))
    if said is None:
        refuse_half_restored(cloud.environment)
        return
    with pytest.raises(CommandError, match=said):
        refuse_half_restored(cloud.environment)
