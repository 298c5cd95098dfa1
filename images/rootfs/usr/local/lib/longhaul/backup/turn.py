"""Decides which member makes the next backup, and for how long it is kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

FREQUENT, HOURLY, DAILY = "frequent", "hourly", "daily"
CLASSES = (DAILY, HOURLY, FREQUENT)
"""Classes of backups, and names of their containers; the one that is kept longest comes first."""

MOST_BEHIND = 10_000
"""Largest number of revisions that a member may be behind the leader to make a backup: some seconds of writes. A
learner that has just joined would save an old state as the newest."""


@dataclass(frozen=True, kw_only=True)
class Voice:
    """A member that answers."""

    name: str
    leader: bool
    learner: bool
    revision: int


def order(members: Iterable[Voice]) -> tuple[str, ...]:
    """Return the members that may make the backup, the preferred one first: learners, then followers. The leader does
    it only where it is alone, since every write waits for its disk."""
    found = tuple(members)
    newest = max((one.revision for one in found), default=0)
    if len(found) == 1:
        return (found[0].name,)
    able = [one for one in found if not one.leader and newest - one.revision <= MOST_BEHIND]
    return tuple(one.name for one in sorted(able, key=lambda one: (not one.learner, one.name)))


def is_due(*, rank: int, age_s: float | None, every_s: float, up_s: float) -> bool:
    """Return whether the member of this rank makes a backup now. ``age_s`` is the newest one's; where there is none
    (None), the time for which this machine is up, ``up_s``, stands for it. The second member steps in when the first is
    an interval late, the third an interval later."""
    waited_s = up_s if age_s is None else age_s
    return (age_s is None and rank == 0) or waited_s >= every_s * (rank + 1)


def kept_as(now: datetime, newest: Mapping[str, datetime]) -> str:
    """Return the class of a backup that is made ``now``: the first one of its day is daily, the first of its hour
    hourly. ``newest`` has the time of the newest one of each class; all times are UTC."""
    for kept, unit in ((DAILY, "%Y-%m-%d"), (HOURLY, "%Y-%m-%dT%H")):
        found = newest.get(kept)
        done = found is not None and found.strftime(unit) >= now.strftime(unit)
        covered = kept == HOURLY and DAILY in newest and newest[DAILY].strftime(unit) >= now.strftime(unit)
        if not (done or covered):
            return kept
    return FREQUENT
