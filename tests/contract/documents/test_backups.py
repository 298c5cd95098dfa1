"""The rule by which a blob counts as a backup, and the settings that members get."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.model import load
from components.model.backups.section import Backups
from components.model.backups.storage import account_name, settings
from components.model.secrets.vault import vault_url
from contract.documents.backup_settings import BackupSettings, SettingsError
from contract.documents.backups import LONGEST, SKEW, BackupMetadata, StoredBackup, flaw_of, name_of, names_of
from tests.support.hosts import STACKS
from tests.support.project import REPOSITORY

NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
VAULT = "https://lh-lab-0123.vault.azure.net"


def blob(
    name: str = "lab-etcd-1", /, *, ago: timedelta = timedelta(), took: timedelta = timedelta(), **changes: str
) -> StoredBackup:
    """Return a backup as the member makes it, ``ago`` at its end, with changes of its metadata."""
    made = NOW - ago
    metadata = BackupMetadata(
        environment="lab",
        role="etcd",
        member=name,
        cluster="c1",
        etcd="3.6.8",
        taken=made - took,
        revision=7,
        keys=3,
        size=9,
        snapshot_sha256="0b" * 32,
        sha256="0a" * 32,
    )
    blob_name = name_of("etcd", name, made - took)
    return StoredBackup(kept="daily", name=blob_name, size=5, made=made, metadata={**metadata.to_document(), **changes})


CASES: list[tuple[StoredBackup, str]] = [
    (blob(), ""),
    (blob(took=timedelta(minutes=40)), ""),
    (blob(ago=timedelta(days=80)), ""),
    (blob(ago=-SKEW), ""),
    (blob("lab-etcd-learner"), ""),
    (blob("lab-etcd-stranger"), "its member is lab-etcd-stranger, which is not a member of lab"),
    (replace(blob(), size=0), "it is empty"),
    (blob(format="2"), "its format is 2, and this release reads 1"),
    (replace(blob(), metadata={}), "its format is not said"),
    (blob(environment="prod"), "it belongs to the environment prod"),
    (blob(role="events"), "it belongs to the etcd cluster events"),
    (blob(member="lab-etcd-2"), "its name does not match its member and time"),
    (blob(member="lab-events-1"), "its member is lab-events-1, which is not a member of lab"),
    (blob(member=""), "its member is not said"),
    (replace(blob(), name="etcd/x"), "its name does not match its member and time"),
    (replace(blob(), name=f"{blob().name}.age"), "its name does not match its member and time"),
    (blob(taken="2030-05-04"), "its name does not match its member and time"),
    (blob(taken="2030-05-04T10:31:00Z"), "its name does not match its member and time"),
    (blob(ago=timedelta(minutes=-6)), "its time lies in the future"),
    (blob(ago=timedelta(days=1), took=timedelta(hours=1)), "it says that it was taken at 2030-05-03T09:30:00Z"),
    (blob(ago=timedelta(days=1), took=timedelta(minutes=-6)), "it says that it was taken at 2030-05-03T10:36:00Z"),
    (blob(revision="many"), "its revision or number of keys is not a number"),
    (blob(keys=""), "its revision or number of keys is not a number"),
    (blob(keys="9" * 20), "its revision or number of keys is not a number"),
    (blob(revision="\u0663"), "its revision or number of keys is not a number"),
    (blob(sha256="0A" * 32), "it has no hashes"),
    (blob(snapshot_sha256=""), "it has no hashes"),
]


@pytest.mark.parametrize(("backup", "flaw"), CASES)
def test_a_blob_counts_as_a_member_would_have_made_it(backup: StoredBackup, flaw: str) -> None:
    reason = flaw_of(backup, environment="lab", role="etcd", now=NOW)
    assert reason.startswith(flaw)
    assert bool(reason) == bool(flaw)


def test_the_unit_of_backups_ends_when_none_would_count() -> None:
    unit = REPOSITORY / "images/rootfs/etc/systemd/system/longhaul-backup.service"
    minutes = LONGEST // timedelta(minutes=1)
    assert re.search(rf"^TimeoutStartSec={minutes}min$", unit.read_text(), re.MULTILINE)


def test_a_member_may_write_the_names_that_it_gives() -> None:
    pattern = re.escape(names_of("etcd", "lab-etcd-1")).replace(r"\*", ".*")
    assert re.fullmatch(pattern, name_of("etcd", "lab-etcd-1", NOW))
    assert not re.fullmatch(pattern, name_of("etcd", "lab-etcd-2", NOW))


def test_members_take_what_up_writes() -> None:
    lab = load(STACKS / "Pulumi.lab.yaml")
    written = settings(lab, Backups(recipients=(KEY,), every_minutes=2))
    taken = BackupSettings.parse(written.to_text(), vault=vault_url(lab))
    assert taken == written
    assert (taken.every_s, taken.url) == (120.0, f"https://{account_name(lab)}.blob.core.windows.net")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "https://stranger.blob.core.windows.net"}, "the environment's storage is https://lhlab0123.blob"),
        ({"url": "http://lhlab0123.blob.core.windows.net"}, "its address is 'http://"),
        ({"url": "https://lhlab0123.blob.core.windows.net.example.com"}, "its address is"),
        ({"url": "https://lhlab0123.blob.core.windows.net/x"}, "its address is"),
        ({"recipients": []}, "nobody is not a public key of age"),
        ({"recipients": [KEY, "age1short"]}, "'age1short' is not a public key of age"),
        ({"recipients": [f"{KEY}\n"]}, "is not a public key of age"),
        ({"recipients": KEY}, "cannot be read"),
        ({"every_s": 1}, "its interval of 1 s"),
        ({"every_s": "nan"}, "its interval of nan s"),
    ],
)
def test_settings_that_up_would_not_write_are_refused(change: dict[str, Any], said: str) -> None:
    url = "https://lhlab0123.blob.core.windows.net"
    good = {"environment": "lab", "url": url, "recipients": [KEY], "every_s": 300}
    assert BackupSettings.parse(json.dumps(good), vault=VAULT).url == url
    with pytest.raises(SettingsError, match=re.escape(said)):
        BackupSettings.parse(json.dumps({**good, **change}), vault=VAULT)
