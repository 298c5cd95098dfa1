"""Backups as a member counts them; and a stolen member against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from backup import backup_inventory, schedule

from contract.documents.backups import LONGEST, StoredBackup, name_of
from tests.contract.documents.test_backups import NOW, blob


def test_the_newest_one_that_counts_is_the_newest() -> None:
    slow = blob("lab-etcd-2", ago=timedelta(minutes=10), took=timedelta(minutes=7))
    own = replace(blob(ago=timedelta(hours=2)), kept="hourly")
    junk = replace(blob(), kept="frequent", name="etcd/z")
    found = backup_inventory.take_inventory(
        [junk, slow, own], environment="lab", role="etcd", member="lab-etcd-1", now=NOW
    )
    assert found.newest is not None
    assert (found.newest, found.storage.took_s) == (slow, 420.0)
    assert (found.age_s, found.own_age_s) == (600.0, 7200.0)
    assert found.own_by_class == {"hourly": own.made}
    assert (found.storage.rejected, found.storage.rejected_why[:17]) == (1, "frequent/etcd/z: ")
    assert set(found.storage.oldest) == {"frequent", "daily", "hourly"}


Forger = Callable[[datetime], StoredBackup]


def plausible(now: datetime) -> StoredBackup:
    return replace(blob("lab-etcd-2"), name=name_of("etcd", "lab-etcd-2", now), made=now,
                   metadata={**blob("lab-etcd-2").metadata, "taken": f"{now:%Y-%m-%dT%H:%M:%SZ}"})  # fmt: skip


def slow(now: datetime) -> StoredBackup:
    """A backup that took as long as one may, so that others would wait for the next."""
    taken = now - LONGEST
    return replace(plausible(taken), made=now)


def of_another(now: datetime) -> StoredBackup:
    """As the storage would let nobody write it."""
    return replace(plausible(now), name=name_of("etcd", "lab-etcd-1", now))


@pytest.mark.parametrize("forge", [plausible, slow, of_another])
def test_a_stolen_member_cannot_keep_another_from_its_hourly_and_daily_backups(forge: Forger) -> None:
    listed: list[StoredBackup] = []
    own: list[StoredBackup] = []
    for step in range(26 * 12):
        now = NOW + timedelta(minutes=5 * step)
        listed.append(replace(forge(now), kept=schedule.CLASSES[step % 3]))
        there = backup_inventory.take_inventory(listed, environment="lab", role="etcd", member="lab-etcd-1", now=now)
        ages = schedule.BackupAges(newest_s=there.age_s, own_s=there.own_age_s, up_s=9e9)
        if schedule.is_due(rank=1, ages=ages, every_s=300.0, took_s=there.storage.took_s):
            made = replace(plausible(now), name=name_of("etcd", "lab-etcd-1", now))
            made = replace(
                made, kept=schedule.kept_as(now, there.own_by_class), metadata={**made.metadata, "member": "lab-etcd-1"}
            )
            listed.append(made)
            own.append(made)
    gaps = [later.made - one.made for one, later in pairwise(own)]
    assert max(gaps) <= timedelta(hours=1)
    assert [one.made.day for one in own if one.kept == schedule.DAILY] == [4, 5]
    assert sum(one.kept == schedule.HOURLY for one in own) >= 24
