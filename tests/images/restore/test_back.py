"""Restores of real etcd clusters that are given up, that a quorum overtakes, and that end without a lost machine."""

from __future__ import annotations

import shutil

import pytest

from components.model import Role
from longhaul.etcd_backups.listing import control_access
from longhaul.restore.give_up import given_up
from longhaul.restore.machines import PlaceMachines
from longhaul.restore.preparation import RestoreArguments
from longhaul.terminal.exits import CommandError
from longhaul.vault.restore_record import RestoreRecords, RestoreState
from tests.images.etcd.test_membership import FIRST, THIRD, _promoted, ready
from tests.images.machines import eventually
from tests.images.restore.test_restore import EVENTS, MEMBERS, _binaries, _live, _restoring, bootstrapped, leads
from tests.images.restore_world import World

__all__ = ["_binaries", "_live", "_restoring"]

pytestmark = pytest.mark.loopback

LOOK = 5
"""Number of questions of one look: one for each machine."""


def test_a_restore_that_is_given_up_leaves_the_old_data(restoring: World) -> None:
    restoring.put(EVENTS, "key-1")
    restoring.back_up(EVENTS)
    newest = restoring.put(EVENTS, "key-2")
    wanted = RestoreArguments(roles=[Role.EVENTS], although_healthy=True)
    # The vault, the API server, the member's stop.
    restoring.left = LOOK + 1 + 1 + 1
    with pytest.raises(CommandError):
        restoring.restore(wanted)
    assert "etcd" not in restoring.control[EVENTS].processes
    restoring.left = None
    control, place = control_access(restoring.environment)
    book = RestoreRecords(control=control, place=place, environment=restoring.environment)
    half = given_up(book, PlaceMachines(control=control, place=place), lambda _half: None)
    eventually(lambda: ready(restoring.control[EVENTS]), what="the events etcd is back")
    assert (restoring.keys(EVENTS), restoring.revision(EVENTS)) == (2, newest)
    assert restoring.of(EVENTS).data.asides() == []
    last = book.last()
    assert last is not None
    assert (last.id, last.state) == (half.id, RestoreState.DONE)
    # It is as if it had not been.
    restoring.restore(wanted)
    assert restoring.keys(EVENTS) == 1


@pytest.mark.drill
def test_a_restore_ends_without_a_machine_that_was_lost_after_its_start(restoring: World) -> None:
    bootstrapped(restoring)
    restoring.put(FIRST, "key-1")
    restoring.back_up(next(name for name in MEMBERS if not leads(restoring, name)))
    restoring.put(FIRST, "key-2")
    restoring.lose(*MEMBERS[1:])
    # Two looks, the vault, the API server, three members' stop, rebuild and start, and the vault.
    restoring.left = 2 * LOOK + 1 + 1 + 3 + 3 + 3 + 1
    with pytest.raises(CommandError):
        restoring.restore(RestoreArguments(roles=[Role.ETCD]))
    restoring.left = None
    restoring.put(FIRST, "key-3")
    restoring.lose(THIRD)
    shutil.rmtree(restoring.of(THIRD).records.folder)
    restoring.commands.clear()

    done = restoring.restore()

    assert restoring.keys(FIRST) == 2
    assert not [words for _, words in restoring.commands if "stop" in words or "rebuild" in words]
    eventually(lambda: _promoted(restoring.control[THIRD]), what="the new machine votes")
    eventually(lambda: ready(restoring.control[THIRD]), what="the new machine has joined")
    assert restoring.keys(THIRD) == 2
    assert restoring.of(THIRD).data.cluster() == done.clusters[Role.ETCD]
