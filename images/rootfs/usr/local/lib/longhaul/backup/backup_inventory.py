"""Inventory of the stored backups, from which a member decides whether to make the next one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from contract.documents.backups import StoredBackup, flaw_of
from contract.documents.node_answers import BackupStorageState, NewestBackup


@dataclass(frozen=True, kw_only=True)
class BackupInventory:
    """Backups of an etcd cluster, as one member counts them."""

    newest: StoredBackup | None
    own_by_class: Mapping[str, datetime]
    """Time of the newest backup that this member made, by class."""
    now: datetime
    storage: BackupStorageState

    @property
    def age_s(self) -> float | None:
        """Return the age in seconds of the newest backup; None if there is no backup."""
        return None if self.newest is None else (self.now - self.newest.made).total_seconds()

    @property
    def own_age_s(self) -> float | None:
        """Return the age in seconds of the newest backup that this member made; None if it has made none."""
        made = max(self.own_by_class.values(), default=None)
        return None if made is None else (self.now - made).total_seconds()


def take_inventory(
    listed: Iterable[StoredBackup], *, environment: str, role: str, member: str, now: datetime
) -> BackupInventory:
    """Return the inventory of the listed blobs."""
    blobs = list(listed)
    good: list[StoredBackup] = []
    rejected: dict[str, str] = {}
    for blob in blobs:
        if flaw := flaw_of(blob, environment=environment, role=role, now=now):
            rejected[f"{blob.kept}/{blob.name}"] = flaw
        else:
            good.append(blob)
    latest: dict[str, datetime] = {}
    for backup in good:
        if backup.metadata["member"] == member:
            latest[backup.kept] = max(backup.made, latest.get(backup.kept, backup.made))
    oldest: dict[str, float] = {}
    for blob in blobs:
        oldest[blob.kept] = min(blob.made.timestamp(), oldest.get(blob.kept, blob.made.timestamp()))
    newest = max(good, key=lambda backup: backup.made, default=None)
    name, why = next(iter(rejected.items()), ("", ""))
    look = BackupStorageState(
        newest=None if newest is None else _newest(newest),
        took_s=0.0 if newest is None else _took_s(newest),
        rejected=len(rejected),
        rejected_why=f"{name}: {why}" if name else "",
        oldest=oldest,
    )
    return BackupInventory(newest=newest, own_by_class=latest, now=now, storage=look)


def _took_s(backup: StoredBackup) -> float:
    """Return the time from a backup's beginning to its arrival in the storage, seconds."""
    return max(0.0, (backup.made - (backup.taken or backup.made)).total_seconds())


def _newest(blob: StoredBackup) -> NewestBackup:
    return NewestBackup(
        name=f"{blob.kept}/{blob.name}",
        made=blob.made.timestamp(),
        size=blob.size,
        revision=int(blob.metadata["revision"]),
        keys=int(blob.metadata["keys"]),
    )
