"""Judges which blobs in the storage count as backups. Pure.

A member that is stolen can write any blob in its own name (components/azure/conditions.py). What is not as a member
would have made it neither holds a new backup back nor is taken for the newest. ``longhaul`` judges by the same rule
(longhaul/etcd_backups/listing.py); one test gives both the same cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backup.storage import SKEW, Found

FORMAT = "1"
"""Version of a backup: an etcd snapshot, compressed by gzip, encrypted by age, with metadata of this version."""

LONGEST = timedelta(minutes=40)
"""Longest time that a backup takes (``TimeoutStartSec`` of longhaul-backup.service)."""

TIME, NAME_TIME = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H%M%SZ"


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A blob that counts."""

    found: Found
    member: str
    took_s: float
    """Time from its beginning to its arrival, seconds."""


def name_of(role: str, member: str, taken: datetime) -> str:
    """Return the name of a backup, within its class."""
    return f"{role}/{taken:{NAME_TIME}}-{member}.db.gz.age"


def counted(
    blobs: Iterable[Found], *, environment: str, role: str, now: datetime
) -> tuple[list[Counted], dict[str, str]]:
    """Return the blobs that count, and the reasons against the others, by class and name."""
    good: list[Counted] = []
    rejected: dict[str, str] = {}
    for blob in blobs:
        if flaw := flaw_of(blob, environment=environment, role=role, now=now):
            rejected[f"{blob.kept}/{blob.name}"] = flaw
        else:
            took_s = (blob.made - (_time(blob.metadata["taken"]) or blob.made)).total_seconds()
            good.append(Counted(found=blob, member=blob.metadata["member"], took_s=max(0.0, took_s)))
    return good, rejected


def flaw_of(blob: Found, *, environment: str, role: str, now: datetime) -> str:
    """Return the reason why a blob does not count; empty when it does. ``made`` is the storage's own time: nobody can
    write it, and retention keeps it as it was."""
    metadata = blob.metadata
    if not blob.size:
        return "it is empty"
    if metadata.get("format") != FORMAT:
        return f"its format is {metadata.get('format') or 'not said'}, and this release reads {FORMAT}"
    if metadata.get("environment") != environment:
        return f"it is of the environment {metadata.get('environment') or '?'}"
    if metadata.get("role") != role:
        return f"it is of the etcd cluster {metadata.get('role') or '?'}"
    return _untrue(blob, environment=environment, role=role, now=now)


def _untrue(blob: Found, *, environment: str, role: str, now: datetime) -> str:
    metadata, member = blob.metadata, blob.metadata.get("member", "")
    taken = _time(metadata.get("taken", ""))
    if not re.fullmatch(rf"{re.escape(environment)}-{re.escape(role)}-([0-9]{{1,3}}|learner)", member):
        return f"its member is {member or 'not said'}, which is none of {environment}'s"
    if taken is None or blob.name != name_of(role, member, taken):
        return "its name is not of its member and time"
    if max(taken, blob.made) > now + SKEW:
        return f"it is of the future: {metadata['taken']}"
    if not -SKEW <= blob.made - taken <= LONGEST + SKEW:
        return f"it says that it was taken at {metadata['taken']}, and arrived at {blob.made:{TIME}}"
    if not all(re.fullmatch("[0-9]{1,19}", metadata.get(name, "")) for name in ("revision", "keys")):
        return "its revision or number of keys is no number"
    if not all(re.fullmatch("[0-9a-f]{64}", metadata.get(name, "")) for name in ("sha256", "snapshot_sha256")):
        return "it has no hashes"
    return ""


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
