"""Gives up an unfinished restore: members return to the data that was set aside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from components.model import Role, control_machines, plan
from contract.documents.restore import Step
from longhaul.restore.machine_states import ObservedPlane, look, roles_of
from longhaul.restore.steps import STOP_S
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import RestoreState, UnfinishedRestore

if TYPE_CHECKING:
    from longhaul.restore.machines import PlaceMachines
    from longhaul.vault.restore_record import RestoreRecords


def given_up(
    book: RestoreRecords, fleet: PlaceMachines, agree: Callable[[UnfinishedRestore], None]
) -> UnfinishedRestore:
    """End the unfinished restore, and return it. Raise ``CommandError`` when there is none, or when it has already made
    new data, which clients may have read. ``agree`` is called before any machine is changed, and raises to refuse."""
    half = book.last()
    if half is None or half.state is RestoreState.DONE:
        raise CommandError("no restore is incomplete here, so there is nothing to give up", code=Exit.USAGE)
    machines = control_machines(book.environment, plan(book.environment))
    observed = look(fleet, machines)
    if made := _made(half, observed):
        raise CommandError(
            f"{', '.join(made)}: the restore {half.id} has made new data there, so it cannot be given up: "
            f"`longhaul restore --env {book.environment.name} --key KEYFILE` goes on with it",
            code=Exit.REFUSED,
        )
    agree(half)
    # Members come first, so that API servers can connect to them.
    names = [member.name for role in roles_of(half) for member in observed.members[role]]
    fleet.ask_all_or_fail(dict.fromkeys(names, f"restore give-up --id {half.id}"), what="not given up", limit_s=STOP_S)
    aside = [learner.name for learner in observed.learners if Role.ETCD in roles_of(half)]
    rest = dict.fromkeys([*observed.servers, *aside], f"restore finish --id {half.id}")
    fleet.ask_all_or_fail(rest, what="not started", limit_s=STOP_S)
    book.write(replace(half, state=RestoreState.DONE))
    return half


def _made(half: UnfinishedRestore, observed: ObservedPlane) -> list[str]:
    """Return the members for which the restore has made new data."""
    those = [member for role in roles_of(half) for member in observed.members[role] if member.id == half.id]
    return [member.name for member in those if max(member.step, member.noted) >= Step.REBUILT]
