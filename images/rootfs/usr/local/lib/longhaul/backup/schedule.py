"""Rules for which member makes the next backup, and how long the backup is kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from contract.documents.backups import BackupClass

FREQUENT, HOURLY, DAILY = BackupClass
CLASSES = (DAILY, HOURLY, FREQUENT)
"""Classes of backups, which are also the names of their containers, in descending order of retention."""

MOST_BEHIND = 10_000
"""Largest number of revisions by which a member that makes backups may lag behind the voting members: some seconds of
writes. A learner that has just joined would otherwise save an old state as the newest."""


OWN_S = 3600.0
"""Age in seconds of a member's own newest backup at which the member makes another, even if other members have made
newer backups. Nobody can make a backup under another member's name, so a stolen member cannot keep other members from
making backups for longer than this."""


@dataclass(frozen=True, kw_only=True)
class AnsweringMember:
    """A member that answers."""

    name: str
    leader: bool
    learner: bool
    revision: int


def order(members: Iterable[AnsweringMember]) -> tuple[str, ...]:
    """Return the members that may make the backup, in order of preference: learners, then followers. The leader makes
    the backup only if it is the only member, because every write waits for the leader's disk."""
    voices = tuple(members)
    if len(voices) == 1:
        return (voices[0].name,)
    able = [voice for voice in voices if not voice.leader and _reached(voices) - voice.revision <= MOST_BEHIND]
    return tuple(voice.name for voice in sorted(able, key=lambda voice: (not voice.learner, voice.name)))


def _reached(members: Iterable[AnsweringMember]) -> int:
    """Return the newest revision of the voters. If at least three voters answer, return the second newest revision, so
    that a single member cannot make all others seem to lag behind."""
    revisions = sorted((member.revision for member in members if not member.learner), reverse=True)
    return revisions[1] if len(revisions) >= 3 else max(revisions, default=0)


@dataclass(frozen=True, kw_only=True)
class BackupAges:
    """Ages of backups in seconds. If there is no backup (None), the uptime of this machine replaces the age."""

    newest_s: float | None
    own_s: float | None
    """Age of the newest backup that this member made."""
    up_s: float


def is_due(*, rank: int, ages: BackupAges, every_s: float, took_s: float) -> bool:
    """Return whether the member of this rank makes a backup now. The second member (rank 1) makes the backup if the
    first is an interval late, the third an interval later. Each member also allows every member before it twice the
    duration of the last backup (``took_s``), because the age of the newest backup counts from the backup's end."""
    if ages.newest_s is None and rank == 0:
        return True
    if (ages.up_s if ages.own_s is None else ages.own_s) >= OWN_S:
        return True
    waited_s = ages.up_s if ages.newest_s is None else ages.newest_s
    return waited_s >= every_s + rank * (every_s + 2 * took_s)


def kept_as(now: datetime, newest: Mapping[str, datetime]) -> str:
    """Return the class of a backup that a member makes ``now``. The member's first backup of a day is daily, its first
    backup of an hour is hourly. ``newest`` is the time of the member's own newest backup, by class; other members'
    backups are not trusted. All times are UTC."""
    for kept, unit in ((DAILY, "%Y-%m-%d"), (HOURLY, "%Y-%m-%dT%H")):
        latest = newest.get(kept)
        done = latest is not None and latest.strftime(unit) >= now.strftime(unit)
        covered = kept == HOURLY and DAILY in newest and newest[DAILY].strftime(unit) >= now.strftime(unit)
        if not (done or covered):
            return kept
    return FREQUENT
