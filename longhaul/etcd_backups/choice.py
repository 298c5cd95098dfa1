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


def chosen(etcd: str, found: Sequence[ListedBackup], *, at: datetime | None, names: Sequence[str]) -> ListedBackup:
    """Return the backup of an etcd cluster to restore: the one that is named, else the one made last ``at`` a time,
    else the one with the highest revision, which a learner that was behind does not make; ``CommandError`` when there
    is none without a flaw. ``found`` has the one first that was made last."""
    mine = [one for one in found if one.etcd == etcd]
    if not mine:
        raise CommandError(f"{etcd}: there is no backup yet. `longhaul status` says why members make none")
    for one in mine:
        if one.name in names:
            if one.flaw:
                raise CommandError(f"{one.name} cannot be restored: {one.flaw}", code=Exit.USAGE)
            return one
    early = [one for one in mine if at is None or one.made <= at]
    if not early:
        said = f"{etcd}: there is no backup of {at:%Y-%m-%d %H:%M:%S}Z or before; the oldest is {mine[-1].name}"
        raise CommandError(said, code=Exit.USAGE)
    good = [one for one in early if not one.flaw]
    if not good:
        raise CommandError(f"{etcd}: no backup can be restored here. The newest, {early[0].name}: {early[0].flaw}")
    return good[0] if at is not None else furthest(good[0], good)


def furthest(backup: ListedBackup, found: Sequence[ListedBackup]) -> ListedBackup:
    """Return the backup of the same etcd cluster that has the highest revision, of those without a flaw and not
    :data:`FAR` off."""
    mine = [one for one in found if one.etcd == backup.etcd and not one.flaw]
    return max([backup, *mine], key=lambda one: one.revision if believed(one.revision, backup) else 0)


def believed(revision: int, backup: ListedBackup) -> bool:
    """Return whether a revision may belong to a backup's etcd cluster."""
    return revision <= backup.revision + FAR


def unknown(names: Iterable[str], found: Sequence[ListedBackup]) -> list[str]:
    """Return the names that no backup has."""
    known = {one.name for one in found}
    return [name for name in names if name not in known]


def newest_known(backup: ListedBackup, found: Sequence[ListedBackup], told: Iterable[int]) -> int:
    """Return the newest revision that is known of a backup's etcd cluster: members tell theirs, and backups have one. A
    backup with a flaw is not believed, and nothing that is :data:`FAR` off."""
    others = (one.revision for one in found if one.etcd == backup.etcd and not one.flaw)
    return max(other for other in (backup.revision, *told, *others) if believed(other, backup))


def bump(backup: ListedBackup, newest: int) -> int:
    """Return by how much the backup's revision is raised, so that no client ever sees an older one than it has seen:
    :data:`BUMP` more than the newest one that is known, since nobody knows what was written after that."""
    return BUMP + max(0, newest - backup.revision)
