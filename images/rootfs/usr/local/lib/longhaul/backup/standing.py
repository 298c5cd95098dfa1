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
    found = list(listed)
    good, rejected = counted(found, environment=environment, role=role, now=now)
    own: dict[str, datetime] = {}
    for one in good:
        if one.member == member:
            own[one.found.kept] = max(one.found.made, own.get(one.found.kept, one.found.made))
    oldest: dict[str, float] = {}
    for blob in found:
        oldest[blob.kept] = min(blob.made.timestamp(), oldest.get(blob.kept, blob.made.timestamp()))
    newest = max(good, key=lambda one: one.found.made, default=None)
    name, why = next(iter(rejected.items()), ("", ""))
    seen = StorageLook(
        newest=None if newest is None else _newest(newest.found),
        took_s=0.0 if newest is None else newest.took_s,
        rejected=len(rejected),
        rejected_why=f"{name}: {why}" if name else "",
        oldest=oldest,
    )
    return BackupStanding(newest=newest, own=own, now=now, seen=seen)


def _newest(found: Found) -> Newest:
    return Newest(
        name=f"{found.kept}/{found.name}",
        made=found.made.timestamp(),
        size=found.size,
        revision=int(found.metadata["revision"]),
        keys=int(found.metadata["keys"]),
    )
