"""Backups as the cloud's storage lists them, by etcd cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from clouds.base.phrases import counted
from clouds.registry import cloud_of
from components.model import Role
from components.model.backups.storage import account_name
from components.model.sites.places import place_of
from contract.documents import backups as stored
from contract.documents.backups import BackupClass, StoredBackup
from longhaul.etcd_backups.ages import is_overdue, overdue
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class ListedBackup:
    """One backup."""

    etcd: str
    """Name of the etcd cluster."""
    kept: str
    """Backup class, which determines how long it is kept."""
    name: str
    made: datetime
    age_s: int
    size_bytes: int
    """Size of the encrypted backup, bytes."""
    plain_bytes: int
    """Size of the database in it, bytes, as reported by the member."""
    revision: int
    keys: int
    member: str
    """Name of the member that made it."""
    etcd_version: str
    sha256: str
    """SHA-256 of the encrypted content, hexadecimal, as reported by the member."""
    snapshot_sha256: str
    """SHA-256 of the database in it, which etcd appends to the snapshot."""
    flaw: str
    """Reason why it cannot be restored here; empty when none is known."""


def control_access(environment: Environment) -> tuple[ControlAccess[Any], Place[Any]]:
    """Return the access to the control plane's cloud, and the place. Raise ``CommandError`` when the cloud has no such
    access, or when the environment has no backups."""
    if environment.backups is None:
        message = f"{environment.name} has no backups: declare `backups` in its file (docs/backups.md)"
        raise CommandError(message, code=Exit.USAGE)
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        raise CommandError(f"the control plane is on {place.site.kind}, where it cannot be asked yet", code=Exit.USAGE)
    return control, place


def backups(environment: Environment, roles: Sequence[Role], *, now: datetime) -> list[ListedBackup]:
    """Return the backups of these etcd clusters, the newest first. Raise ``CommandError`` when the storage does not
    answer."""
    control, place = control_access(environment)
    storage = account_name(environment)
    listed: list[ListedBackup] = []
    for role in roles:
        for kept in BackupClass:
            try:
                views = control.backups(place, storage, str(kept), stored.prefix_of(role))
            except CloudError as error:
                message = f"the storage {storage} does not list the {kept} backups: {error}"
                raise CommandError(message, code=Exit.UNREACHABLE) from None
            listed += _read(environment, role, kept, views, now)
    return sorted(listed, key=lambda backup: backup.made, reverse=True)


def _read(
    environment: Environment, role: Role, kept: BackupClass, views: Sequence[StoredBackup], now: datetime
) -> Iterator[ListedBackup]:
    for view in views:
        metadata = view.metadata
        yield ListedBackup(
            etcd=str(role),
            kept=str(kept),
            name=f"{kept}/{view.name}",
            made=view.made,
            age_s=max(0, round((now - view.made).total_seconds())),
            size_bytes=view.size,
            plain_bytes=_number(metadata.get("size")),
            revision=_number(metadata.get("revision")),
            keys=_number(metadata.get("keys")),
            member=metadata.get("member", ""),
            etcd_version=metadata.get("etcd", ""),
            sha256=metadata.get("sha256", ""),
            snapshot_sha256=metadata.get("snapshot_sha256", ""),
            flaw=_flaw(environment, role, view, now=now),
        )


def _flaw(environment: Environment, role: Role, view: StoredBackup, *, now: datetime) -> str:
    """Return the reason why a blob cannot be restored here; empty when none is known. A backup from a newer etcd counts
    for members, but cannot be restored."""
    if flaw := stored.flaw_of(view, environment=environment.name, role=role, now=now):
        return flaw
    made, wanted = view.metadata.get("etcd"), environment.versions.etcd
    return f"etcd {made} made it, which is newer than {wanted}" if _version(made) > _version(wanted) else ""


def _version(text: str | None) -> tuple[int, ...]:
    """Return major and minor version: the format of etcd's data is the same within a minor version."""
    return tuple(_number(part) for part in (text or "").split(".")[:2])


def _number(text: str | None) -> int:
    """Return a number; 0 for any other text."""
    return int(text) if text and text.isdecimal() else 0


def warnings(environment: Environment, listed: Sequence[ListedBackup]) -> Iterator[str]:
    """Yield warnings about the whole storage: blobs that are no backups, and backups that are not deleted in time."""
    for name in dict.fromkeys(backup.etcd for backup in listed):
        those = [backup for backup in listed if backup.etcd == name]
        flawed = [backup for backup in those if backup.flaw]
        if flawed:
            first = f"{flawed[0].name}: {flawed[0].flaw}"
            yield f"{name}: {counted(len(flawed), 'blob')} cannot be restored here or do not count as backups: {first}"
        for kept in BackupClass if environment.backups else ():
            oldest = max((backup.age_s for backup in those if backup.kept == kept), default=0)
            if environment.backups and is_overdue(environment.backups, kept, age_s=oldest):
                yield f"{name}: {overdue(environment.backups, kept, age_s=oldest)}"
