"""Choice of the backup to restore, and of how far its revisions are moved. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from longhaul.etcd_backups.listing import ListedBackup
from longhaul.etcd_backups.opened import BUMP
from longhaul.terminal.exits import CommandError, Exit

FAR = 10**12
"""Greatest number of revisions that are believed to follow a backup: those of a thousand restores, or of 20 years at
1,500 writes a second. More is told by a machine that is not itself, and would use the revisions up."""


def chosen(etcd: str, listed: Sequence[ListedBackup], *, at: datetime | None, names: Sequence[str]) -> ListedBackup:
    """Return the backup of an etcd cluster to restore: the one that is named, else the one made last ``at`` a time,
    else the one with the highest revision, which a learner that was behind does not make; ``CommandError`` when there
    is none without a flaw. ``listed`` begins with the backup that was made last."""
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
    return good[0] if at is not None else furthest(good[0], good)


def furthest(backup: ListedBackup, listed: Sequence[ListedBackup]) -> ListedBackup:
    """Return the backup of the same etcd cluster that has the highest revision, of those without a flaw and not
    :data:`FAR` off."""
    mine = [other for other in listed if other.etcd == backup.etcd and not other.flaw]
    return max([backup, *mine], key=lambda other: other.revision if believed(other.revision, backup) else 0)


def believed(revision: int, backup: ListedBackup) -> bool:
    """Return whether a revision may belong to a backup's etcd cluster."""
    return revision <= backup.revision + FAR


def unknown(names: Iterable[str], listed: Sequence[ListedBackup]) -> list[str]:
    """Return the names that no backup has."""
    known = {backup.name for backup in listed}
    return [name for name in names if name not in known]


def newest_known(backup: ListedBackup, listed: Sequence[ListedBackup], revisions: Iterable[int]) -> int:
    """Return the newest revision that is known of a backup's etcd cluster: members tell theirs, and backups have one. A
    backup with a flaw is not believed, and nothing that is :data:`FAR` off."""
    others = (other.revision for other in listed if other.etcd == backup.etcd and not other.flaw)
    return max(other for other in (backup.revision, *revisions, *others) if believed(other, backup))


def bump(backup: ListedBackup, newest: int) -> int:
    """Return by how much the backup's revision is raised, so that no client ever sees an older one than it has seen:
    :data:`BUMP` more than the newest one that is known, since nobody knows what was written after that."""
    return BUMP + max(0, newest - backup.revision)
