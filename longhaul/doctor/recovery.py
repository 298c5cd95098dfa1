"""Checks of what an environment needs for its recovery (docs/backups.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from clouds.base.findings import Finding, NotAskedError, ok, unknown, warning
from components.model import Role
from components.model.secrets.vault import vault_name
from longhaul.doctor.target import DoctorTarget
from longhaul.etcd_backups.ages import LATE
from longhaul.etcd_backups.listing import backups
from longhaul.terminal.ages import age
from longhaul.terminal.exits import CommandError

CUSTODY = 'docs/backups.md, "Who keeps which key"'


def declared(target: DoctorTarget) -> Iterator[Finding]:
    """Check the file: backups, and a vault that cannot be purged. Who has the keys cannot be checked."""
    environment = target.environment
    if environment.backups is None:
        what = "there are no backups: an etcd cluster whose quorum is lost for good is lost"
        yield warning(what, target.at("backups"), do="declare `backups` (docs/backups.md)")
    if environment.destroyable:
        what = (
            f"the vault {vault_name(environment)} has soft delete, but no protection from purging: a purge destroys "
            "every key of the environment, and no backup brings them back"
        )
        yield warning(what, target.at("destroyable"), do="take `destroyable` out of an environment that is to stay")
    else:
        what = "a deleted vault can be recovered for a week, and cannot be purged meanwhile"
        yield ok(what, target.at("destroyable"))
    keys = ["the key that decrypts the engine's state", *(["the backups' private keys"] if environment.backups else [])]
    doubt = f"it cannot be seen from here who has {' and '.join(keys)}, or whether it was ever tried"
    tried = "; `longhaul backups --verify KEYFILE` tries a private key" if environment.backups else ""
    yield unknown(doubt, target.file, do=f"{CUSTODY}{tried}")


def newest(target: DoctorTarget) -> Iterator[Finding]:
    """Check that each etcd cluster has a backup that can be restored and is not too old."""
    environment, now = target.environment, datetime.now(tz=UTC)
    if environment.backups is None:
        return
    roles = [role for role in Role if role.is_etcd]
    try:
        listed = backups(environment, roles, now=now)
    except CommandError as error:
        raise NotAskedError(str(error), do="before the first `longhaul up` there is no storage") from None
    limit_s = LATE * 60 * environment.backups.every_minutes
    for role in roles:
        good = [backup for backup in listed if backup.etcd == str(role) and not backup.flaw]
        if not good:
            yield warning(f"{role}: no backup can be restored", target.at("backups"), do="`longhaul status` says why")
        elif good[0].age_s > limit_s:
            what = f"{role}: the newest backup is {age(good[0].age_s)} old"
            yield warning(what, target.at("backups"), do="`longhaul status` says why")
        else:
            yield ok(f"{role}: the newest backup is {age(good[0].age_s)} old", target.at("backups"))
