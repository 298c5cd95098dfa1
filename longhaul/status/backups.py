"""Judges an etcd cluster's backups from its members' reports. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clouds.base.phrases import counted
from contract.documents.backups import BackupClass
from contract.reasons.status import StatusReason
from longhaul.etcd_backups.ages import LATE, is_overdue, overdue
from longhaul.report.status_verdict import StatusVerdict
from longhaul.terminal.ages import age

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.backups.section import Backups
    from longhaul.status.observed import Observed


@dataclass(frozen=True, kw_only=True)
class BackupStatus:
    """Verdict on the backups of one etcd cluster."""

    verdict: StatusVerdict
    reason: StatusReason
    message: str
    age_s: int | None = None
    """Age of the newest backup in seconds; None when none is known."""
    took_s: float = 0.0
    """Time that it took, seconds."""
    rejected: int = 0
    """Number of blobs in the storage that do not count as backups."""
    size_bytes: int = 0
    """Encrypted size of the newest backup."""
    revision: int = 0
    keys: int = 0


def judge_backup(environment: Environment, members: Sequence[str], observed: Observed) -> BackupStatus | None:
    """Return the verdict; None when the environment has no backups."""
    if environment.backups is None:
        return None
    reports = [observed.answers[name].backup for name in members if name in observed.answers]
    reports = [report for report in reports if report]
    newest = max((report["newest"] for report in reports if report.get("newest")), key=_made, default=None)
    last = max(reports, key=_looked, default={})
    warnings = [*_rejected(last), *_overdue(environment.backups, last, observed.now.timestamp())]
    rejected = int(last.get("rejected", 0))
    if newest is None:
        return BackupStatus(
            verdict=StatusVerdict.DEGRADED,
            reason=StatusReason.NO_BACKUP,
            message="; ".join([f"there is no backup: {_why(reports)}", *(message for _, message in warnings)]),
            rejected=rejected,
        )
    age_s = max(0, round(observed.now.timestamp() - _made(newest)))
    took_s = float(last.get("took_s", 0.0))
    late = age_s > LATE * (60 * environment.backups.every_minutes + took_s)
    message = f"newest backup {age(age_s)} old" + (f": {_why(reports)}" if late else "")
    reasons = [*([StatusReason.BACKUP_LATE] if late else []), *(reason for reason, _ in warnings)]
    return BackupStatus(
        verdict=StatusVerdict.DEGRADED if reasons else StatusVerdict.OK,
        reason=reasons[0] if reasons else StatusReason.READY,
        message="; ".join([message, *(message for _, message in warnings)]),
        age_s=age_s,
        took_s=took_s,
        rejected=rejected,
        size_bytes=int(newest.get("size", 0)),
        revision=int(newest.get("revision", 0)),
        keys=int(newest.get("keys", 0)),
    )


def _rejected(last: Mapping[str, Any]) -> Iterator[tuple[StatusReason, str]]:
    """Yield a warning about blobs that do not count as backups."""
    if number := int(last.get("rejected", 0)):
        message = f"{counted(number, 'blob')} in the storage do not count as backups: {last.get('rejected_why')}"
        yield StatusReason.BLOBS_REJECTED, message


def _overdue(backups: Backups, last: Mapping[str, Any], now: float) -> Iterator[tuple[StatusReason, str]]:
    """Yield a warning about each backup class whose old backups are not deleted."""
    for kept in BackupClass:
        made = (last.get("oldest") or {}).get(str(kept))
        if made is not None and is_overdue(backups, kept, age_s=now - float(made)):
            yield StatusReason.BACKUPS_NOT_DELETED, overdue(backups, kept, age_s=now - float(made))


def _made(newest: Mapping[str, Any]) -> float:
    return float(newest.get("made", 0.0))


def _looked(report: Mapping[str, Any]) -> float:
    return float(report.get("looked", 0.0))


def _why(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return why there is no backup, or no newer one, from the member that looked last."""
    if not reports:
        return "no member reports any"
    last = max(reports, key=_looked)
    failed = next((str(report["error"]) for report in [last, *reports] if report.get("error")), "")
    if not any(report.get("declared") for report in reports):
        return "members do not know of backups yet: run `longhaul up`"
    return failed or "its turn has not come yet"
