"""Judges the backups of an etcd cluster by what its members report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longhaul.status.fleet import Verdict

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.status.observed import Observed

LATE = 3
"""Number of intervals after which the newest backup is too old: by then two members have failed to make one."""


@dataclass(frozen=True, kw_only=True)
class BackupStatus:
    """Verdict on the backups of one etcd cluster."""

    verdict: Verdict
    reason: str
    age_s: int | None = None
    """Age of the newest backup in seconds; None when none is known."""
    size_bytes: int = 0
    """Encrypted size of the newest backup."""
    revision: int = 0
    keys: int = 0


def judge_backup(environment: Environment, members: Sequence[str], observed: Observed) -> BackupStatus | None:
    """Return the verdict; None when the environment has no backups."""
    if environment.backups is None:
        return None
    told = [observed.answers[name].backup for name in members if name in observed.answers]
    told = [one for one in told if one]
    newest = max((one["newest"] for one in told if one.get("newest")), key=_made, default=None)
    if newest is None:
        return BackupStatus(verdict=Verdict.DEGRADED, reason=f"there is no backup: {_why(told)}")
    age_s = max(0, round(observed.now.timestamp() - _made(newest)))
    late = age_s > LATE * 60 * environment.backups.every_minutes
    said = f"newest backup {_words(age_s)} old"
    return BackupStatus(
        verdict=Verdict.DEGRADED if late else Verdict.OK,
        reason=f"{said}: {_why(told)}" if late else said,
        age_s=age_s,
        size_bytes=int(newest.get("size", 0)),
        revision=int(newest.get("revision", 0)),
        keys=int(newest.get("keys", 0)),
    )


def _made(newest: Mapping[str, Any]) -> float:
    return float(newest.get("made", 0.0))


def _why(told: Sequence[Mapping[str, Any]]) -> str:
    """Return why there is none, or no newer one, as the member says that looked last."""
    if not told:
        return "no member reports any (an image of before backups?)"
    last = max(told, key=lambda one: float(one.get("looked", 0.0)))
    failed = next((str(one["error"]) for one in [last, *told] if one.get("error")), "")
    if not any(one.get("declared") for one in told):
        return "members are not told of backups yet: `longhaul up`"
    return failed or "its turn has not come yet"


def _words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
