"""Standing of the backups for a member that looks whether it is its turn: newest, own, rejected. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from backup.counted import Counted, counted
from backup.state import Newest, StorageLook
from backup.storage import Found


@dataclass(frozen=True, kw_only=True)
class BackupStanding:
    """Backups of an etcd cluster, as one member counts them."""

    newest: Counted | None
    own: Mapping[str, datetime]
    """Time of the newest one that this member made, by class."""
    now: datetime
    seen: StorageLook

    @property
    def age_s(self) -> float | None:
        """Return the age of the newest one; None when there is none."""
        return None if self.newest is None else (self.now - self.newest.found.made).total_seconds()

    @property
    def own_age_s(self) -> float | None:
        """Return the age of the newest one that this member made; None when there is none."""
        made = max(self.own.values(), default=None)
        return None if made is None else (self.now - made).total_seconds()


def standing(listed: Iterable[Found], *, environment: str, role: str, member: str, now: datetime) -> BackupStanding:
    """Return what this member counts of what is listed."""
    blobs = list(listed)
    good, rejected = counted(blobs, environment=environment, role=role, now=now)
    latest: dict[str, datetime] = {}
    for backup in good:
        if backup.member == member:
            latest[backup.found.kept] = max(backup.found.made, latest.get(backup.found.kept, backup.found.made))
    oldest: dict[str, float] = {}
    for blob in blobs:
        oldest[blob.kept] = min(blob.made.timestamp(), oldest.get(blob.kept, blob.made.timestamp()))
    newest = max(good, key=lambda backup: backup.found.made, default=None)
    name, why = next(iter(rejected.items()), ("", ""))
    look = StorageLook(
        newest=None if newest is None else _newest(newest.found),
        took_s=0.0 if newest is None else newest.took_s,
        rejected=len(rejected),
        rejected_why=f"{name}: {why}" if name else "",
        oldest=oldest,
    )
    return BackupStanding(newest=newest, own=latest, now=now, seen=look)


def _newest(blob: Found) -> Newest:
    return Newest(
        name=f"{blob.kept}/{blob.name}",
        made=blob.made.timestamp(),
        size=blob.size,
        revision=int(blob.metadata["revision"]),
        keys=int(blob.metadata["keys"]),
    )
