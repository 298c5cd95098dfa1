"""Prepares a restore: continues an unfinished restore, or chooses a new restore."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from components.model import Role, control_machines, plan
from contract.documents.restore import Step
from longhaul.etcd_backups.choice import choose_backup, newest_revision, revision_bump, unknown_names
from longhaul.etcd_backups.listing import ListedBackup, backups
from longhaul.restore.machine_states import ObservedPlane, look, may_go_on, missing_machines, roles_of
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import RestoreChoice, RestoreRecords, RestoreState, UnfinishedRestore

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.restore.machines import PlaceMachines

GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class RestoreArguments:
    """The operator's options."""

    roles: Sequence[Role] = ()
    """Etcd clusters to restore; empty for the etcd clusters whose quorum is lost."""
    at: datetime | None = None
    names: Sequence[str] = ()
    although_healthy: bool = False


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A restore that has not begun, or has not been continued yet."""

    half: UnfinishedRestore
    backups: Mapping[Role, ListedBackup]
    observed: ObservedPlane
    notes: Sequence[str]
    """Further lines for the confirmation."""
    healthy: Sequence[Role]
    """Etcd clusters that are replaced although they have a quorum."""
    before: UnfinishedRestore | None
    """Last restore in the vault; None without one."""


def prepare(environment: Environment, book: RestoreRecords, fleet: PlaceMachines, wanted: RestoreArguments) -> Prepared:
    """Inspect everything, and choose. Raise ``CommandError`` when the restore is not allowed or not possible. No
    machine is changed."""
    last = book.last()
    half = last if last and last.state is not RestoreState.DONE else None
    machines = control_machines(environment, plan(environment))
    if gone := missing_machines(fleet, machines):
        if half is not None:
            # So that `up` is allowed again.
            book.write(replace(half, state=RestoreState.PAUSED))
        raise CommandError(
            f"{', '.join(gone)}: run `longhaul up --env {environment.name}`, which makes or starts it, then run this "
            "again. `up` waits for members that cannot be ready before the restore: interrupt it once the machine runs",
            code=Exit.REFUSED,
        )
    observed = look(fleet, machines)
    listed = backups(environment, list(observed.members), now=datetime.now(tz=UTC))
    observed = replace(observed, backups=listed)
    if names := unknown_names(wanted.names, listed):
        message = f"{', '.join(names)}: no such backup. `longhaul backups --env {environment.name} --all` lists them"
        raise CommandError(message, code=Exit.USAGE)
    begun = half
    if half is not None and not any(observed.stopped(role, half.id) for role in roles_of(half)):
        half = None  # it has stopped no member, so the state that it recorded may be outdated
    if half is not None and not _another(half, wanted) and may_go_on(half, observed):
        return replace(_gone_on(half, listed, observed, wanted), before=last)
    try:
        return replace(_begun(environment, half, listed, observed, wanted, last.revisions if last else {}), before=last)
    except CommandError as error:
        if begun is None:
            raise
        message = f"{error}. To end the restore {begun.id}, which may have stopped API servers: --give-up"
        raise CommandError(message, code=error.code) from None


def _another(half: UnfinishedRestore, wanted: RestoreArguments) -> bool:
    """Return whether the options ask for something else than the unfinished restore."""
    known = {cluster.backup for cluster in half.clusters.values()}
    other_roles = bool(wanted.roles) and {str(role) for role in wanted.roles} != set(half.clusters)
    return other_roles or wanted.at is not None or not set(wanted.names) <= known


def _gone_on(
    half: UnfinishedRestore, listed: Sequence[ListedBackup], observed: ObservedPlane, wanted: RestoreArguments
) -> Prepared:
    allowed = half.although_healthy or wanted.although_healthy
    lost = observed.without_quorum()
    back = [role for role in roles_of(half) if role not in lost and not observed.started(role, half.id)]
    if back and not allowed:
        raise CommandError(
            f"{' and '.join(map(str, back))}: there is a quorum again, so the restore {half.id} does not continue: "
            "`longhaul restore --give-up` ends it; to replace the etcd cluster anyway: --etcd NAME --although-healthy",
            code=Exit.REFUSED,
        )
    names = [cluster.backup for cluster in half.clusters.values()]
    mine = {role: choose_backup(str(role), listed, at=None, names=names) for role in roles_of(half)}
    if away := set(names) - {backup.name for backup in mine.values()}:
        message = (
            f"{', '.join(sorted(away))} is partly restored, but no longer exists: name another backup with --backup"
        )
        raise CommandError(message)
    note = f"a restore is incomplete (its id is {half.id}): continuing it"
    notes = [note, *_joining(half, observed)]
    half = replace(half, state=RestoreState.RUNNING, although_healthy=allowed)
    return Prepared(half=half, backups=mine, observed=observed, notes=notes, healthy=back, before=None)


def _joining(half: UnfinishedRestore, observed: ObservedPlane) -> Iterator[str]:
    """Yield a note for each restored etcd cluster that has a quorum without some member."""
    for role in roles_of(half):
        names = [member.name for member in observed.members[role] if member.at(half.id) < Step.REBUILT]
        if names and observed.alive(role, half.id):
            yield f"{role} is restored and has a quorum: {', '.join(names)} joins it without the backup"


def _begun(
    environment: Environment,
    half: UnfinishedRestore | None,
    listed: Sequence[ListedBackup],
    observed: ObservedPlane,
    wanted: RestoreArguments,
    given: Mapping[str, int],
) -> Prepared:
    """Return a new restore. ``given`` are the highest revisions with which earlier restores began."""
    roles = list(wanted.roles) or (roles_of(half) if half else observed.without_quorum())
    stopped = [role for role in roles_of(half) if observed.stopped(role, half.id)] if half else []
    if left := [str(role) for role in stopped if role not in roles]:
        message = f"{', '.join(left)}: partly restored, too. Leave out --etcd, so that both are restored"
        raise CommandError(message, code=Exit.USAGE)
    lost = observed.without_quorum()
    healthy = [role for role in roles if role not in lost]
    if not roles or (healthy and not wanted.although_healthy):
        raise CommandError(
            f"{' and '.join(map(str, healthy or observed.members))}: there is a quorum, so nothing is lost and "
            "nothing was done. To return to a backup anyway: --etcd NAME --although-healthy",
            code=Exit.REFUSED,
        )
    names = wanted.names or (
        [cluster.backup for cluster in half.clusters.values()] if half and wanted.at is None else ()
    )
    mine = {role: choose_backup(str(role), listed, at=wanted.at, names=names) for role in roles}
    choices = {}
    for role, backup in mine.items():
        newest = newest_revision(backup, listed, observed.revisions(role).values())
        choices[str(role)] = RestoreChoice(
            backup=backup.name, bump=revision_bump(backup, max(newest, given.get(str(role), 0)))
        )
    first = {str(role): backup.revision + choices[str(role)].bump for role, backup in mine.items()}
    new = UnfinishedRestore(
        id=uuid.uuid4().hex[:12],
        state=RestoreState.RUNNING,
        clusters=choices,
        revisions={**given, **first},
        although_healthy=wanted.although_healthy,
    )
    notes = [
        *_given_up(half, observed, roles),
        *_not_the_last(mine, listed, wanted),
        *_newer(mine, observed),
        *_too_large(mine, environment),
    ]
    return Prepared(half=new, backups=mine, observed=observed, notes=notes, healthy=healthy, before=None)


def _not_the_last(
    backups: Mapping[Role, ListedBackup], listed: Sequence[ListedBackup], wanted: RestoreArguments
) -> Iterator[str]:
    """Yield a note for each chosen backup when a later backup has a lower revision."""
    for role, mine in backups.items() if wanted.at is None else ():
        last = next((backup for backup in listed if backup.etcd == mine.etcd and not backup.flaw), mine)
        if mine.name not in wanted.names and last.revision < mine.revision:
            yield (
                f"{role}: {last.name} was made later, and has revision {last.revision}, "
                f"{mine.revision - last.revision} less than {mine.name}, which is taken: the later backup's member was "
                "behind. To take the later one anyway: --backup"
            )


def _newer(backups: Mapping[Role, ListedBackup], observed: ObservedPlane) -> Iterator[str]:
    """Yield a note for each learner whose revision is higher than the backup's revision."""
    backup = backups.get(Role.ETCD)
    for learner in observed.learners if backup else ():
        if backup and learner.revision > backup.revision:
            yield (
                f"{learner.name} has revision {learner.revision}, {learner.revision - backup.revision} more than that "
                "backup: `longhaul backups --now --from-learner` first, then this again, and these revisions are "
                "not lost"
            )


def _too_large(backups: Mapping[Role, ListedBackup], environment: Environment) -> Iterator[str]:
    """Yield a note for each backup whose database has reached its members' quota, such as a backup from a learner."""
    control = environment.control_plane
    for role, backup in backups.items():
        quota_gib = (control.etcd if role is Role.ETCD else control.events).quota_gib
        if backup.plain_bytes >= quota_gib * GIB:
            size = f"{backup.plain_bytes / GIB:.1f} GiB"
            yield (
                f"{role}: the database in {backup.name} has {size}, and the members' quota is {quota_gib}. It is "
                "defragmented; if that is not enough, writes fail with the alarm NOSPACE, and API servers do not "
                f"become ready: then run `longhaul up --reclaim {role} --only infrastructure`, and this again"
            )


def _given_up(half: UnfinishedRestore | None, observed: ObservedPlane, roles: Sequence[Role]) -> list[str]:
    """Return a note for each unfinished restore that is given up for the new restore."""
    left = {member.half_done: member.backup for role in roles for member in observed.members[role] if member.half_done}
    if half is not None:
        left.setdefault(half.id, ", ".join(cluster.backup for cluster in half.clusters.values()))
    return [
        f"the restore {id_} of {backup} is incomplete and given up: this run begins again"
        for id_, backup in sorted(left.items())
    ]
