"""Judges an etcd cluster's backups from its members' reports. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clouds.base.phrases import counted
from contract.documents.backups import BackupClass
from contract.documents.node_answers import BackupState, BackupStorageState
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
    """Duration of the last backup, seconds."""
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
    answers = [observed.answers[name] for name in members if name in observed.answers]
    reports = [answer.backup for answer in answers if answer.backup]
    newest = max((report.newest for report in reports if report.newest), key=lambda made: made.made, default=None)
    last: BackupStorageState = max(reports, key=_looked, default=BackupStorageState())
    warnings = [*_rejected(last), *_overdue(environment.backups, last, observed.now.timestamp())]
    if newest is None:
        return BackupStatus(
            verdict=StatusVerdict.DEGRADED,
            reason=StatusReason.NO_BACKUP,
            message="; ".join([f"there is no backup: {_why(reports)}", *(message for _, message in warnings)]),
            rejected=last.rejected,
        )
    age_s = max(0, round(observed.now.timestamp() - newest.made))
    late = age_s > LATE * (60 * environment.backups.every_minutes + last.took_s)
    message = f"newest backup {age(age_s)} old" + (f": {_why(reports)}" if late else "")
    reasons = [*([StatusReason.BACKUP_LATE] if late else []), *(reason for reason, _ in warnings)]
    return BackupStatus(
        verdict=StatusVerdict.DEGRADED if reasons else StatusVerdict.OK,
        reason=reasons[0] if reasons else StatusReason.READY,
        message="; ".join([message, *(message for _, message in warnings)]),
        age_s=age_s,
        took_s=last.took_s,
        rejected=last.rejected,
        size_bytes=newest.size,
        revision=newest.revision,
        keys=newest.keys,
    )


def _rejected(last: BackupStorageState) -> Iterator[tuple[StatusReason, str]]:
    """Yield a warning about blobs that do not count as backups."""
    if last.rejected:
        message = f"{counted(last.rejected, 'blob')} in the storage do not count as backups: {last.rejected_why}"
        yield StatusReason.BLOBS_REJECTED, message


def _overdue(backups: Backups, last: BackupStorageState, now: float) -> Iterator[tuple[StatusReason, str]]:
    """Yield a warning about each backup class whose old backups are not deleted."""
    for kept in BackupClass:
        made = last.oldest.get(str(kept))
        if made is not None and is_overdue(backups, kept, age_s=now - made):
            yield StatusReason.BACKUPS_NOT_DELETED, overdue(backups, kept, age_s=now - made)


def _looked(report: BackupState) -> float:
    return report.looked


def _why(reports: Sequence[BackupState]) -> str:
    """Return why there is no backup, or no newer backup, as the member that looked last reports it."""
    if not reports:
        return "no member reports any"
    last = max(reports, key=_looked)
    failed = next((report.error for report in [last, *reports] if report.error), "")
    if not any(report.declared for report in reports):
        return "members do not know of backups yet: run `longhaul up`"
    return failed or "its turn has not come yet"
