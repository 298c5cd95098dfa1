"""Decides which member makes the next backup, and how long it is kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from contract.documents.backups import BackupClass

FREQUENT, HOURLY, DAILY = BackupClass
CLASSES = (DAILY, HOURLY, FREQUENT)
"""Classes of backups, and names of their containers, the longest retention first."""

MOST_BEHIND = 10_000
"""Largest number of revisions that a member may be behind the leader to make a backup: some seconds of writes. A
learner that has just joined would otherwise save an old state as the newest."""


OWN_S = 3600.0
"""Age of a member's own newest backup, in seconds, from which it makes another, whatever the others have made. Nobody
else can make a backup under its name, so a stolen member cannot keep the others from making theirs for longer."""


@dataclass(frozen=True, kw_only=True)
class AnsweringMember:
    """A member that answers."""

    name: str
    leader: bool
    learner: bool
    revision: int


def order(members: Iterable[AnsweringMember]) -> tuple[str, ...]:
    """Return the members that may make the backup, the preferred one first: learners, then followers. The leader makes
    it only when it is the only member, since every write waits for its disk."""
    voices = tuple(members)
    if len(voices) == 1:
        return (voices[0].name,)
    able = [voice for voice in voices if not voice.leader and _reached(voices) - voice.revision <= MOST_BEHIND]
    return tuple(voice.name for voice in sorted(able, key=lambda voice: (not voice.learner, voice.name)))


def _reached(members: Iterable[AnsweringMember]) -> int:
    """Return the newest revision; when three voters answer, one that two of them have reached, so that a single member
    cannot make the others look behind."""
    revisions = sorted((member.revision for member in members if not member.learner), reverse=True)
    return revisions[1] if len(revisions) >= 3 else max(revisions, default=0)


@dataclass(frozen=True, kw_only=True)
class BackupAges:
    """Ages in seconds. When there is no backup (None), the uptime of this machine replaces its age."""

    newest_s: float | None
    own_s: float | None
    """Age of the newest backup that this member made."""
    up_s: float


def is_due(*, rank: int, ages: BackupAges, every_s: float, took_s: float) -> bool:
    """Return whether the member of this rank makes a backup now. The second member steps in when the first is an
    interval late, the third an interval later. Each leaves the members before it twice the time that the last backup
    took, ``took_s``, since the newest backup's age counts from its end."""
    if ages.newest_s is None and rank == 0:
        return True
    if (ages.up_s if ages.own_s is None else ages.own_s) >= OWN_S:
        return True
    waited_s = ages.up_s if ages.newest_s is None else ages.newest_s
    return waited_s >= every_s + rank * (every_s + 2 * took_s)


def kept_as(now: datetime, newest: Mapping[str, datetime]) -> str:
    """Return the class of a backup that a member makes ``now``: its first of a day is daily, its first of an hour
    hourly. ``newest`` has the time of its own newest backup of each class; the other members' are not trusted. All
    times are UTC."""
    for kept, unit in ((DAILY, "%Y-%m-%d"), (HOURLY, "%Y-%m-%dT%H")):
        latest = newest.get(kept)
        done = latest is not None and latest.strftime(unit) >= now.strftime(unit)
        covered = kept == HOURLY and DAILY in newest and newest[DAILY].strftime(unit) >= now.strftime(unit)
        if not (done or covered):
            return kept
    return FREQUENT
