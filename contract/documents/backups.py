"""A backup of an etcd cluster in its cloud's storage: its name, its metadata, and the rule that decides whether a blob
counts as a backup.

A compromised member can write any blob under its own name (components/azure/conditions.py). A blob that no member would
have written neither delays a new backup nor counts as the newest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

FORMAT = "1"
"""Version of a backup: an etcd snapshot, compressed by gzip, encrypted by age, with metadata of this version."""

SKEW = timedelta(minutes=5)
"""Largest difference between clocks."""
LONGEST = timedelta(minutes=40)
"""Longest duration of a backup (``TimeoutStartSec`` of longhaul-backup.service)."""

TIME, _NAME_TIME = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H%M%SZ"


class BackupClass(StrEnum):
    """Class of a backup, which determines how long it is kept. Each class has its own container, since Azure's
    retention belongs to containers."""

    FREQUENT = "frequent"
    HOURLY = "hourly"
    DAILY = "daily"


@dataclass(frozen=True, kw_only=True)
class StoredBackup:
    """A backup as the storage lists it."""

    kept: str
    """Class of the backup, which is also the name of its container."""
    name: str
    """Name within its class."""
    size: int
    """Number of encrypted bytes."""
    made: datetime
    """Time at which the backup was stored, by the storage's clock, UTC. Nobody can write this time, and retention keeps
    it unchanged."""
    metadata: Mapping[str, str]

    @property
    def taken(self) -> datetime | None:
        """Return the time at which the backup was begun, as its member reports; None if the reported time is
        invalid."""
        try:
            return datetime.strptime(self.metadata.get("taken", ""), TIME).replace(tzinfo=UTC)
        except ValueError:
            return None


def prefix_of(role: str) -> str:
    """Return the prefix of the names of an etcd cluster's backups, in each container."""
    return f"{role}/"


def names_of(role: str, member: str) -> str:
    """Return the pattern, with Azure's wildcard, of the names of a member's backups. A member may write only blobs with
    such names."""
    return _name(role, "*", member)


def name_of(role: str, member: str, taken: datetime) -> str:
    """Return the name of a backup, within its class."""
    return _name(role, f"{taken:{_NAME_TIME}}", member)


def _name(role: str, taken: str, member: str) -> str:
    return f"{prefix_of(role)}{taken}-{member}.db.gz.age"


@dataclass(frozen=True, kw_only=True)
class BackupMetadata:
    """Metadata that a member writes with a backup."""

    environment: str
    role: str
    member: str
    cluster: str
    """Id of the etcd cluster, hexadecimal."""
    etcd: str
    """Version of etcd."""
    taken: datetime
    revision: int
    keys: int
    """Number of keys, including all stored revisions."""
    size: int
    """Size of the database, bytes."""
    snapshot_sha256: str
    """SHA-256 of the database, which etcd appends to the snapshot; hexadecimal."""
    sha256: str
    """SHA-256 of the encrypted content; hexadecimal."""

    def to_document(self) -> dict[str, str]:
        """Return the metadata in blob storage's form."""
        return {
            "format": FORMAT,
            **{key: str(value) for key, value in vars(self).items()},
            "taken": f"{self.taken:{TIME}}",
        }


def flaw_of(backup: StoredBackup, *, environment: str, role: str, now: datetime) -> str:
    """Return the reason why a blob does not count as a backup; empty if it counts."""
    metadata = backup.metadata
    if not backup.size:
        return "it is empty"
    if metadata.get("format") != FORMAT:
        return f"its format is {metadata.get('format') or 'not said'}, and this release reads {FORMAT}"
    if metadata.get("environment") != environment:
        return f"it belongs to the environment {metadata.get('environment') or '?'}"
    if metadata.get("role") != role:
        return f"it belongs to the etcd cluster {metadata.get('role') or '?'}"
    return _untrue(backup, environment=environment, role=role, now=now)


def _untrue(backup: StoredBackup, *, environment: str, role: str, now: datetime) -> str:
    """Return the reason why no member of the environment can have written the blob; empty if a member can."""
    metadata, member, taken = backup.metadata, backup.metadata.get("member", ""), backup.taken
    if not re.fullmatch(rf"{re.escape(environment)}-{re.escape(role)}-([0-9]{{1,3}}|learner)", member):
        return f"its member is {member or 'not said'}, which is not a member of {environment}"
    if taken is None or backup.name != name_of(role, member, taken):
        return "its name does not match its member and time"
    if max(taken, backup.made) > now + SKEW:
        return f"its time lies in the future: {metadata['taken']}"
    if not -SKEW <= backup.made - taken <= LONGEST + SKEW:
        return f"it says that it was taken at {metadata['taken']}, and arrived at {backup.made:{TIME}}"
    if not all(re.fullmatch("[0-9]{1,19}", metadata.get(name, "")) for name in ("revision", "keys")):
        return "its revision or number of keys is not a number"
    if not all(re.fullmatch("[0-9a-f]{64}", metadata.get(name, "")) for name in ("sha256", "snapshot_sha256")):
        return "it has no hashes"
    return ""
