"""Chooses the backup to restore, and by how much its revisions are raised. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from longhaul.etcd_backups.listing import ListedBackup
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.terminal.exits import CommandError, Exit

FAR = 10**12
"""Largest accepted number of revisions after a backup: the revisions of a thousand restores, or of 20 years at 1,500
writes a second. A machine that reports more is not trusted, since the restore would use the revisions up."""


def choose_backup(
    etcd: str, listed: Sequence[ListedBackup], *, at: datetime | None, names: Sequence[str]
) -> ListedBackup:
    """Return the backup of an etcd cluster to restore: the one in ``names``, else the last one made by the time ``at``,
    else the one with the highest revision, so that a backup from a learner that lagged behind is not chosen. Raise
    ``CommandError`` when none can be restored. ``listed`` is sorted, the newest first."""
    mine = [backup for backup in listed if backup.etcd == etcd]
    if not mine:
        raise CommandError(f"{etcd}: there is no backup yet. `longhaul status` says why members make none")
    for backup in mine:
        if backup.name in names:
            if backup.flaw:
                raise CommandError(f"{backup.name} cannot be restored: {backup.flaw}", code=Exit.USAGE)
            return backup
    early = [backup for backup in mine if at is None or backup.made <= at]
    if not early:
        message = f"{etcd}: there is no backup of {at:%Y-%m-%d %H:%M:%S}Z or before; the oldest is {mine[-1].name}"
        raise CommandError(message, code=Exit.USAGE)
    good = [backup for backup in early if not backup.flaw]
    if not good:
        raise CommandError(f"{etcd}: no backup can be restored here. The newest, {early[0].name}: {early[0].flaw}")
    return good[0] if at is not None else highest_revision(good[0], good)


def highest_revision(backup: ListedBackup, listed: Sequence[ListedBackup]) -> ListedBackup:
    """Return the backup of the same etcd cluster with the highest revision, among those without a flaw and within
    :data:`FAR` revisions."""
    mine = [other for other in listed if other.etcd == backup.etcd and not other.flaw]
    return max([backup, *mine], key=lambda other: other.revision if is_plausible(other.revision, backup) else 0)


def is_plausible(revision: int, backup: ListedBackup) -> bool:
    """Return whether a revision is plausible for the etcd cluster of a backup."""
    return revision <= backup.revision + FAR


def unknown_names(names: Iterable[str], listed: Sequence[ListedBackup]) -> list[str]:
    """Return the names that belong to no backup."""
    known = {backup.name for backup in listed}
    return [name for name in names if name not in known]


def newest_revision(backup: ListedBackup, listed: Sequence[ListedBackup], revisions: Iterable[int]) -> int:
    """Return the newest known revision of a backup's etcd cluster: the highest among the backup, its members'
    ``revisions`` and the other backups. Backups with a flaw are ignored, and revisions more than :data:`FAR` ahead."""
    others = (other.revision for other in listed if other.etcd == backup.etcd and not other.flaw)
    return max(other for other in (backup.revision, *revisions, *others) if is_plausible(other, backup))


def revision_bump(backup: ListedBackup, newest: int) -> int:
    """Return the number by which to raise the backup's revision, so that no client sees an older revision than before.
    The raised revision is :data:`BUMP` above the newest known revision, since later writes are unknown."""
    return BUMP + max(0, newest - backup.revision)
