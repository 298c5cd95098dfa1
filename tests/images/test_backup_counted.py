"""The rule by which a blob counts as a backup, for members and ``longhaul``; and a stolen member against it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from backup import counted, settings, standing, turn
from backup.storage import SKEW, Found

from clouds.base.control import BackupView
from components.model import Environment, Role, load
from components.model.backups.section import Backups
from components.model.backups.storage import account_url, names_of
from components.model.backups.storage import settings as written
from components.model.secrets.vault import vault_url
from longhaul.etcd_backups import flaws
from tests.lab.cloud.test_backup_storage import member
from tests.support.hosts import STACKS
from tests.support.project import REPOSITORY

NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kdeu8pdvqg0jz7l"
VAULT = "https://lh-lab-0123.vault.azure.net"


@pytest.fixture(name="lab", scope="module")
def _lab() -> Environment:
    return load(STACKS / "Pulumi.lab.yaml")


def blob(
    name: str = "lab-etcd-1", *, ago: timedelta = timedelta(), took: timedelta = timedelta(), **told: str
) -> Found:
    """Return a backup as the member makes it, ``ago`` at its end, with changes of its metadata."""
    made = NOW - ago
    metadata = {
        "format": "1",
        "environment": "lab",
        "role": "etcd",
        "member": name,
        "etcd": "3.6.8",
        "taken": f"{made - took:%Y-%m-%dT%H:%M:%SZ}",
        "revision": "7",
        "keys": "3",
        "sha256": "0a" * 32,
        "snapshot_sha256": "0b" * 32,
        **told,
    }
    return Found(kept="daily", name=counted.name_of("etcd", name, made - took), size=5, made=made, metadata=metadata)


CASES: list[tuple[Found, str]] = [
    (blob(), ""),
    (blob(took=timedelta(minutes=40)), ""),
    (blob(ago=timedelta(days=80)), ""),
    (blob(ago=-SKEW), ""),
    (blob("lab-etcd-learner"), ""),
    (blob("lab-etcd-stranger"), "its member is lab-etcd-stranger, which is none of lab's"),
    (replace(blob(), size=0), "it is empty"),
    (blob(format="2"), "its format is 2, and this release reads 1"),
    (replace(blob(), metadata={}), "its format is not said"),
    (blob(environment="prod"), "it is of the environment prod"),
    (blob(role="events"), "it is of the etcd cluster events"),
    (blob(member="lab-etcd-2"), "its name is not of its member and time"),
    (blob(member="lab-events-1"), "its member is lab-events-1, which is none of lab's"),
    (blob(member=""), "its member is not said"),
    (replace(blob(), name="etcd/x"), "its name is not of its member and time"),
    (replace(blob(), name=f"{blob().name}.age"), "its name is not of its member and time"),
    (blob(taken="2030-05-04"), "its name is not of its member and time"),
    (blob(taken="2030-05-04T10:31:00Z"), "its name is not of its member and time"),
    (blob(ago=timedelta(minutes=-6)), "it is of the future"),
    (blob(ago=timedelta(days=1), took=timedelta(hours=1)), "it says that it was taken at 2030-05-03T09:30:00Z"),
    (blob(ago=timedelta(days=1), took=timedelta(minutes=-6)), "it says that it was taken at 2030-05-03T10:36:00Z"),
    (blob(revision="many"), "its revision or number of keys is no number"),
    (blob(keys=""), "its revision or number of keys is no number"),
    (blob(keys="9" * 20), "its revision or number of keys is no number"),
    (blob(revision="\u0663"), "its revision or number of keys is no number"),
    (blob(sha256="0A" * 32), "it has no hashes"),
    (blob(snapshot_sha256=""), "it has no hashes"),
]


@pytest.mark.parametrize(("found", "flaw"), CASES)
def test_members_and_longhaul_judge_a_blob_alike(lab: Environment, found: Found, flaw: str) -> None:
    by_member = counted.flaw_of(found, environment="lab", role="etcd", now=NOW)
    view = BackupView(name=found.name, size=found.size, made=found.made, metadata=found.metadata)
    assert flaws.flaw_of(lab, Role.ETCD, view, now=NOW) == by_member
    assert by_member.startswith(flaw)
    assert bool(by_member) == bool(flaw)


def test_what_is_written_in_two_places_is_the_same(lab: Environment) -> None:
    assert (flaws.FORMAT, flaws.SKEW, flaws.LONGEST) == (counted.FORMAT, SKEW, counted.LONGEST)
    unit = REPOSITORY / "images/rootfs/etc/systemd/system/longhaul-backup.service"
    minutes = counted.LONGEST // timedelta(minutes=1)
    assert re.search(rf"^TimeoutStartSec={minutes}min$", unit.read_text(), re.MULTILINE)
    one = member("lab-etcd-1")
    pattern = re.escape(names_of(one)).replace(r"\*", ".*")
    assert re.fullmatch(pattern, counted.name_of("etcd", "lab-etcd-1", NOW))
    found = settings.BackupSettings.parse(
        written(lab, Backups(recipients=(KEY,), every_minutes=2)), vault=vault_url(lab)
    )
    assert (found.environment, found.recipients, found.every_s) == ("lab", (KEY,), 120.0)
    assert found.url == account_url(lab)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "https://stranger.blob.core.windows.net"}, "the environment's storage is https://lhlab0123.blob"),
        ({"url": "http://lhlab0123.blob.core.windows.net"}, "its address is 'http://"),
        ({"url": "https://lhlab0123.blob.core.windows.net.example.com"}, "its address is"),
        ({"url": "https://lhlab0123.blob.core.windows.net/x"}, "its address is"),
        ({"recipients": []}, "nobody is no public key of age"),
        ({"recipients": [KEY, "age1short"]}, "'age1short' is no public key of age"),
        ({"recipients": [f"{KEY}\n"]}, "is no public key of age"),
        ({"recipients": KEY}, "cannot be read"),
        ({"every_s": 1}, "a backup every 1 s"),
        ({"every_s": "nan"}, "a backup every nan s"),
    ],
)
def test_settings_that_up_would_not_write_are_refused(change: dict[str, Any], said: str) -> None:
    url = "https://lhlab0123.blob.core.windows.net"
    good = {"environment": "lab", "url": url, "recipients": [KEY], "every_s": 300}
    assert settings.BackupSettings.parse(settings.json.dumps(good), vault=VAULT).url == url
    with pytest.raises(settings.SettingsError, match=re.escape(said)):
        settings.BackupSettings.parse(settings.json.dumps({**good, **change}), vault=VAULT)


def test_the_newest_one_that_counts_is_the_newest() -> None:
    slow = blob("lab-etcd-2", ago=timedelta(minutes=10), took=timedelta(minutes=7))
    own = replace(blob(ago=timedelta(hours=2)), kept="hourly")
    junk = replace(blob(), kept="frequent", name="etcd/z")
    found = standing.standing([junk, slow, own], environment="lab", role="etcd", member="lab-etcd-1", now=NOW)
    assert found.newest is not None
    assert (found.newest.found, found.seen.took_s) == (slow, 420.0)
    assert (found.age_s, found.own_age_s) == (600.0, 7200.0)
    assert found.own == {"hourly": own.made}
    assert (found.seen.rejected, found.seen.rejected_why[:17]) == (1, "frequent/etcd/z: ")
    assert set(found.seen.oldest) == {"frequent", "daily", "hourly"}


Forger = Callable[[datetime], Found]


def plausible(now: datetime) -> Found:
    return replace(blob("lab-etcd-2"), name=counted.name_of("etcd", "lab-etcd-2", now), made=now,
                   metadata={**blob("lab-etcd-2").metadata, "taken": f"{now:%Y-%m-%dT%H:%M:%SZ}"})  # fmt: skip


def slow(now: datetime) -> Found:
    """A backup that took as long as one may, so that others would wait for the next."""
    taken = now - counted.LONGEST
    return replace(plausible(taken), made=now)


def of_another(now: datetime) -> Found:
    """As the storage would let nobody write it."""
    return replace(plausible(now), name=counted.name_of("etcd", "lab-etcd-1", now))


@pytest.mark.parametrize("forge", [plausible, slow, of_another])
def test_a_stolen_member_cannot_keep_another_from_its_hourly_and_daily_backups(forge: Forger) -> None:
    listed: list[Found] = []
    own: list[Found] = []
    for step in range(26 * 12):
        now = NOW + timedelta(minutes=5 * step)
        listed.append(replace(forge(now), kept=turn.CLASSES[step % 3]))
        there = standing.standing(listed, environment="lab", role="etcd", member="lab-etcd-1", now=now)
        ages = turn.Ages(newest_s=there.age_s, own_s=there.own_age_s, up_s=9e9)
        if turn.is_due(rank=1, ages=ages, every_s=300.0, took_s=there.seen.took_s):
            made = replace(plausible(now), name=counted.name_of("etcd", "lab-etcd-1", now))
            made = replace(made, kept=turn.kept_as(now, there.own), metadata={**made.metadata, "member": "lab-etcd-1"})
            listed.append(made)
            own.append(made)
    gaps = [later.made - one.made for one, later in pairwise(own)]
    assert max(gaps) <= timedelta(hours=1)
    assert [one.made.day for one in own if one.kept == turn.DAILY] == [4, 5]
    assert sum(one.kept == turn.HOURLY for one in own) >= 24
