"""Restores of real etcd clusters from backups in the lab's blob storage, by the command's own steps."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machine.config import client_url
from restore.steps import RestoreError

from clouds.azure.control import AzureControlAccess
from components.model import Role
from contract.documents.restore import Record, Step
from lab import tools
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.restore.preparation import RestoreArguments
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import refuse_half_restored
from tests.images.backup.test_run import storage_as_declared
from tests.images.etcd.test_membership import FIRST, SECOND, THIRD, found, note_existing, ready
from tests.images.fakes import FakeVault
from tests.images.machines import Control, eventually
from tests.images.restore_world import World, answered, found_together, prepared, world
from tests.lab.cloud.conftest import Live

pytestmark = pytest.mark.loopback

EVENTS, SERVER = "lab-events-0", "lab-api-0"
MEMBERS = (FIRST, SECOND, THIRD)


@pytest.fixture(name="binaries", scope="module")
def _binaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(["etcd", "age"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(name="live")
def _live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with storage_as_declared(tmp_path_factory.mktemp("cloud"), name=None) as live:
        yield live


@pytest.fixture(name="restoring")
def _restoring(
    tmp_path: Path, vault: FakeVault, binaries: dict[str, Path], live: Live, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    control = Control(tmp_path, vault, members=3, tools=binaries)
    for name in (*MEMBERS, EVENTS, SERVER):
        control[name].write()
    vault.secrets["events-state"] = json.dumps({"state": "new", "cluster": ""})
    control[EVENTS].prepare()
    control[EVENTS].start_etcd()
    eventually(lambda: ready(control[EVENTS]), what="the events etcd is ready")
    vault.secrets["events-state"] = json.dumps({"state": "existing", "cluster": ""})
    yield world(control, live, tmp_path, binaries, monkeypatch)
    control.close()


def bootstrapped(restoring: World) -> None:
    found_together(restoring.control, *MEMBERS)
    note_existing(restoring.control)


def state(restoring: World, role: str) -> dict[str, Any]:
    return dict(json.loads(restoring.control.vault.secrets[f"{role}-state"]))


def test_a_lost_quorum_is_restored_and_no_revision_runs_backwards(restoring: World) -> None:
    bootstrapped(restoring)
    for number in range(20):
        restoring.put(FIRST, f"key-{number}")
    follower = next(name for name in MEMBERS if not leads(restoring, name))
    backup = restoring.back_up(follower)
    newest = [restoring.put(FIRST, f"key-late-{number}") for number in range(5)][-1]
    assert restoring.keys(FIRST) == 25
    before = state(restoring, "etcd")["cluster"]
    restoring.lose(SECOND, THIRD)

    done = restoring.restore()

    assert {restoring.keys(name) for name in MEMBERS} == {20}
    assert restoring.put(THIRD, "key-new") > newest + BUMP
    assert state(restoring, "etcd") == {"state": "existing", "cluster": done.clusters[Role.ETCD]}
    assert done.clusters[Role.ETCD] != before
    assert "events" not in {str(role) for role in done.clusters}
    # The events etcd had a quorum, and was left alone.
    assert not [script for machine, script in restoring.commands if machine == EVENTS and "stop" in script]
    assert restoring.of(SERVER).units.started  # type: ignore[attr-defined]
    assert done.asides[FIRST] == [str(restoring.of(FIRST).data.aside(done.half.id))]
    with pytest.raises(CommandError, match="there is a quorum") as refused:
        restoring.restore()
    assert refused.value.code is Exit.REFUSED

    # The member that kept its data kept the old etcd cluster, and is refused if that comes back.
    first = restoring.control[FIRST]
    first.stop("etcd")
    first.data.rename(first.data.with_name("new"))
    restoring.of(FIRST).data.aside(done.half.id).rename(first.data)
    assert "nothing was deleted" in str(prepared(first)).lower()

    # A second one, of the same backup, is further still.
    first.data.rename(first.data.with_name("old"))
    first.data.with_name("new").rename(first.data)
    eventually(lambda: prepared(first), what="it may start")
    first.start_etcd()
    eventually(lambda: ready(first), what="it is back")
    newest = restoring.put(FIRST, "key-newer")
    restoring.restore(RestoreArguments(roles=[Role.ETCD], names=[backup.name], although_healthy=True))
    assert restoring.put(SECOND, "key-newest") > newest + BUMP
    assert {restoring.keys(name) for name in MEMBERS} == {21}


@pytest.mark.drill
def test_three_lost_members_of_five_are_restored(
    tmp_path: Path, vault: FakeVault, binaries: dict[str, Path], live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control(tmp_path, vault, members=5, tools=binaries)
    members = [name for name, place in control.places.items() if place.machine.role is Role.ETCD]
    try:
        for name in (*members, EVENTS, SERVER):
            control[name].write()
        found_together(control, *members)
        restoring = world(control, live, tmp_path, binaries, monkeypatch)
        newest = restoring.put(members[0], "key-1")
        restoring.back_up(next(name for name in members if not leads(restoring, name)))
        restoring.lose(*members[1:4])
        restoring.restore(RestoreArguments(roles=[Role.ETCD]))
        assert {restoring.keys(name) for name in members} == {1}
        assert restoring.put(members[4], "key-2") > newest + BUMP
        assert state(restoring, "etcd")["founders"] == members
    finally:
        control.close()


@pytest.mark.drill
def test_a_restore_that_ends_anywhere_is_gone_on_with(restoring: World) -> None:
    for number in range(5):
        restoring.put(EVENTS, f"key-{number}")
    restoring.back_up(EVENTS)
    found(restoring.control)
    restoring.lose(EVENTS)
    ends, ids = 0, set()
    while True:
        newest = restoring.revision(EVENTS) if "etcd" in restoring.control[EVENTS].processes else 0
        restoring.lose(EVENTS)
        restoring.left = ends
        try:
            restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
        except CommandError:
            ends += 1
            restoring.left = None
            half = json.loads(restoring.control.vault.secrets.get("restore", '{"state": "done"}'))
            record = restoring.of(EVENTS).records.read()
            stopped = record is not None and record.id == half.get("id") and record.step >= Step.STOPPED
            if half["state"] == "running":
                with pytest.raises(CommandError, match="is incomplete"):
                    refuse_half_restored(restoring.environment)
            done = restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
            # One that has stopped no member is chosen afresh.
            assert half["state"] != "running" or (half["id"] == done.half.id) is stopped
            ids.add(done.half.id)
            assert (restoring.keys(EVENTS), restoring.revision(EVENTS) > newest) == (5, True)
            assert state(restoring, "events")["cluster"] == done.clusters.get(
                Role.EVENTS, state(restoring, "events")["cluster"]
            )
            refuse_half_restored(restoring.environment)
            continue
        break
    assert len(ids) == ends > 10


def test_a_member_that_was_killed_in_a_step_does_it_again(restoring: World) -> None:
    """Every point between two writes on a member, one after the other."""
    restoring.put(EVENTS, "key-1")
    restoring.back_up(EVENTS)
    restoring.lose(EVENTS)
    mine = restoring.of(EVENTS)
    records = mine.records
    restoring.left = 5 + 5 + 1 + 1 + 1  # looks, and again, the vault, the API server, the member's stop
    with pytest.raises(CommandError):
        restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
    stopped = records.under_way()
    assert stopped is not None
    assert stopped.step == Step.STOPPED
    # Killed after the data was moved, before that was noted.
    records.write(Record(id=stopped.id, backup=stopped.backup))
    # The key was in memory alone, and the machine was restarted.
    (mine.keys / "key").unlink()
    restoring.left = 5 + 5 + 1 + 1 + 1 + 1
    with pytest.raises(CommandError):
        restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
    rebuilt = records.under_way()
    assert rebuilt is not None
    assert (rebuilt.step, rebuilt.cluster) == (Step.REBUILT, mine.data.cluster())
    assert not (mine.keys / "key").exists()
    # Killed after the new data got its name, before that was noted.
    records.write(Record(**{**vars(rebuilt), "step": Step.STOPPED}))
    restoring.left = None
    done = restoring.restore()
    assert done.half.id == rebuilt.id
    assert restoring.keys(EVENTS) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sha256": "00" * 32}, "is not what was made: its SHA-256 is"),
        ({"snapshot_sha256": "00" * 32}, "another than the member saved"),
        ({"revision": 1}, "and the member saved revision 1"),
        ({"skip": 0}, "is not decrypted"),
        ({"name": "events/none"}, "does not come: GET"),
        ({"plain_size": 2**60}, "are needed"),
    ],
    ids=["hash", "snapshot", "revision", "header", "gone", "room"],
)
def test_data_is_made_of_a_good_backup_alone(
    restoring: World, changed: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    restoring.put(EVENTS, "key-1")
    restoring.back_up(EVENTS)
    restoring.lose(EVENTS)
    run = restoring.run_command

    def other(place: Any, machine: str, script: str, *, timeout_s: float) -> Any:
        head, mark, plan = script.partition(" --plan ")
        if mark:
            told = json.loads(base64.b64decode(plan.strip("'")))
            told["source"] |= changed
            script = f"{head}{mark}{base64.b64encode(json.dumps(told).encode()).decode()}"
        return run(place, machine, script, timeout_s=timeout_s)

    monkeypatch.setattr(AzureControlAccess, "run_command", staticmethod(other))
    with pytest.raises(CommandError, match=said):
        restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
    mine = restoring.of(EVENTS)
    assert not mine.data.folder.exists()
    assert not (mine.data.disk / "restore").exists()
    monkeypatch.setattr(AzureControlAccess, "run_command", staticmethod(run))
    restoring.restore()
    assert restoring.keys(EVENTS) == 1


def test_a_machine_does_a_step_only_of_its_own_restore(restoring: World) -> None:
    mine = restoring.of(EVENTS)
    mine.records.write(Record(id="old", backup="daily/events/x"))
    assert "is half done here" in answered(mine, ["stop", "--id", "new", "--backup", "b"])["error"]
    assert "has not come to this step" in answered(mine, ["start", "--id", "new"])["error"]
    assert "etcd" in restoring.control[EVENTS].processes
    mine.data.aside("x").mkdir()
    with pytest.raises(RestoreError, match="hold data"):
        mine.data.set_aside("x")


def test_a_machine_that_is_gone_lets_up_in(restoring: World) -> None:
    restoring.put(EVENTS, "key-1")
    restoring.back_up(EVENTS)
    restoring.lose(EVENTS)
    restoring.left = 5 + 5 + 1 + 1 + 1  # looks, and again, the vault, the API server, the member's stop
    with pytest.raises(CommandError):
        restoring.restore(RestoreArguments(roles=[Role.EVENTS]))
    restoring.left, restoring.gone = None, {SERVER}
    with pytest.raises(CommandError, match=f"{SERVER} is gone: run `longhaul up") as refused:
        restoring.restore()
    assert refused.value.code is Exit.REFUSED
    refuse_half_restored(restoring.environment)
    restoring.gone = set()
    restoring.restore()
    assert restoring.keys(EVENTS) == 1


def leads(restoring: World, name: str) -> bool:
    place = restoring.control[name]
    status = place.etcdctl.status(client_url(place.node.address))
    return status.leader == status.member
