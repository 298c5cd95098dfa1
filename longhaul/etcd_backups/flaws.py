"""Judges whether a blob in the storage is a backup that can be restored here. Pure.

The members' rule decides which blobs are backups (images/rootfs, backup/counted.py); the wording here is the same, and
one test runs both on the same cases. One more flaw is detected here: a backup from a newer etcd.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clouds.base.control import BackupView
    from components.model import Environment, Role

FORMAT = "1"
"""Version of the backup format that can be read."""

SKEW, LONGEST = timedelta(minutes=5), timedelta(minutes=40)
"""Largest difference between clocks, and longest duration of a backup."""

TIME, NAME_TIME = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H%M%SZ"


def flaw_of(environment: Environment, role: Role, view: BackupView, *, now: datetime) -> str:
    """Return the reason why a blob cannot be restored here; empty when none is known."""
    metadata = view.metadata
    if not view.size:
        return "it is empty"
    if metadata.get("format") != FORMAT:
        return f"its format is {metadata.get('format') or 'not said'}, and this release reads {FORMAT}"
    if metadata.get("environment") != environment.name:
        return f"it is of the environment {metadata.get('environment') or '?'}"
    if metadata.get("role") != str(role):
        return f"it is of the etcd cluster {metadata.get('role') or '?'}"
    if untrue := _untrue(environment.name, str(role), view, now=now):
        return untrue
    if version(metadata.get("etcd")) > version(environment.versions.etcd):
        return f"etcd {metadata.get('etcd')} made it, which is newer than {environment.versions.etcd}"
    return ""


def _untrue(environment: str, role: str, view: BackupView, *, now: datetime) -> str:
    """Return what is wrong with the metadata: values that no member writes. Return empty text when nothing is."""
    metadata, member = view.metadata, view.metadata.get("member", "")
    taken = _time(metadata.get("taken", ""))
    if not re.fullmatch(rf"{re.escape(environment)}-{re.escape(role)}-([0-9]{{1,3}}|learner)", member):
        return f"its member is {member or 'not said'}, which is none of {environment}'s"
    if taken is None or view.name != f"{role}/{taken:{NAME_TIME}}-{member}.db.gz.age":
        return "its name is not of its member and time"
    if max(taken, view.made) > now + SKEW:
        return f"it is of the future: {metadata['taken']}"
    if not -SKEW <= view.made - taken <= LONGEST + SKEW:
        return f"it says that it was taken at {metadata['taken']}, and arrived at {view.made:{TIME}}"
    if not all(re.fullmatch("[0-9]{1,19}", metadata.get(name, "")) for name in ("revision", "keys")):
        return "its revision or number of keys is no number"
    if not all(re.fullmatch("[0-9a-f]{64}", metadata.get(name, "")) for name in ("sha256", "snapshot_sha256")):
        return "it has no hashes"
    return ""


def version(text: str | None) -> tuple[int, ...]:
    """Return major and minor version: etcd's data format depends on these only."""
    return tuple(number(part) for part in (text or "").split(".")[:2])


def number(text: str | None) -> int:
    """Return the number in a text; 0 when it is not a number."""
    return int(text) if text and text.isdecimal() else 0


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
