"""Limits of a backup's age: when the newest is too old, and when the oldest should have been deleted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longhaul.terminal.ages import age

if TYPE_CHECKING:
    from components.model.backups.section import Backups
    from contract.documents.backups import BackupClass

LATE = 3
"""Number of intervals after which the newest backup is too old; an interval is the time between two backups plus the
duration of a backup. By then two members have failed to make a backup."""
DAY_S = 86400
SPARE_DAYS = 3
"""Days for which a backup may exist beyond its class's limit: Azure counts whole days, applies its rules once a day,
and may need more than one day (learn.microsoft.com, "Azure Blob Storage lifecycle management overview")."""


def is_overdue(backups: Backups, kept: BackupClass, *, age_s: float) -> bool:
    """Return whether a backup of this class should have been deleted."""
    return age_s > (backups.days(kept) + SPARE_DAYS) * DAY_S


def overdue(backups: Backups, kept: BackupClass, *, age_s: float) -> str:
    """Return the warning about a class whose oldest backup is overdue."""
    return (
        f"nothing deletes old backups: the oldest {kept} one is {age(age_s)} old, and {backups.days(kept)} d are kept "
        '(docs/backups.md, "What is kept")'
    )
