"""A member's backup: whose turn it is, what arrives in the lab's blob storage, and what is said when it does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from backup import run as etcd_backup
from backup import schedule, snapshot, state
from backup.run import Backup, BackupError
from backup.schedule import DAILY, FREQUENT, HOURLY, AnsweringMember, BackupAges
from backup.snapshot import Programs, SnapshotError
from backup.storage import Storage, StorageError
from etcd.client import Etcdctl, EtcdError, EtcdMembers, EtcdMemberStatus, Member
from vault.client import AwayError, VaultError, WithheldError

from components.azure.conditions import NO_DELETION, own_backups
from contract.documents.backup_settings import BackupSettings
from contract.documents.backups import StoredBackup
from contract.documents.node import NodeConfig
from contract.documents.node_answers import BackupState, BackupStorageState, NewestBackup
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import Live, running
from tests.lab.cloud.test_backup_storage import RETENTION, give, member
from tests.lab.cloud.test_blobs import ACCOUNT, URL, account

NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


def voices(*words: str) -> list[AnsweringMember]:
    """Return members from ``name``, ``name leader``, ``name learner``, ``name behind`` and ``name lies``."""
    return [
        AnsweringMember(
            name=word.split()[0],
            leader="leader" in word,
            learner="learner" in word,
            revision=1 if "behind" in word else 10**12 if "lies" in word else 50_000,
        )
        for word in words
    ]


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        (("a leader", "b", "c"), ("b", "c")),
        (("a", "b leader", "c learner"), ("c", "a")),
        (("a leader", "b behind", "c"), ("c",)),
        (("a leader", "b learner behind"), ()),
        (("a leader", "b lies", "c"), ("b", "c")),
        (("a leader lies", "b behind", "c"), ("c",)),
        (("a leader",), ("a",)),
        ((), ()),
    ],
    ids=["followers", "learner", "behind", "joining", "ahead-of-all", "leader-ahead-of-all", "alone", "none"],
)
def test_a_learner_makes_the_backup_else_a_follower_and_never_the_leader(
    members: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert schedule.order(voices(*members)) == wanted


@pytest.mark.parametrize(
    ("rank", "age_s", "own_s", "up_s", "took_s", "due"),
    [
        (0, None, None, 0.0, 0.0, True),
        (0, 299.0, 60.0, 9e9, 0.0, False),
        (0, 300.0, 60.0, 0.0, 0.0, True),
        (1, 300.0, 60.0, 9e9, 0.0, False),
        (1, 600.0, 60.0, 0.0, 0.0, True),
        # Nobody has ever made one: the first member cannot.
        (1, None, None, 599.0, 0.0, False),
        (1, None, None, 600.0, 0.0, True),
        # The last took 20 minutes: the first member goes on as before, and is left alone while it is at it.
        (0, 300.0, 60.0, 0.0, 1200.0, True),
        (1, 300.0 + 1200.0 + 60.0, 60.0, 0.0, 1200.0, False),
        (1, 600.0 + 2400.0, 60.0, 0.0, 1200.0, True),
        (2, 600.0 + 2400.0, 60.0, 0.0, 1200.0, False),
        # An hour without one of its own, whatever others say that they have made.
        (2, 10.0, 3599.0, 9e9, 1200.0, False),
        (2, 10.0, 3600.0, 0.0, 1200.0, True),
        (2, 10.0, None, 3599.0, 0.0, False),
        (2, 10.0, None, 3600.0, 0.0, True),
    ],
)
def test_the_second_member_steps_in_when_the_first_is_late_and_each_makes_one_an_hour(
    rank: int, age_s: float | None, own_s: float | None, up_s: float, took_s: float, due: bool
) -> None:
    ages = BackupAges(newest_s=age_s, own_s=own_s, up_s=up_s)
    assert schedule.is_due(rank=rank, ages=ages, every_s=300.0, took_s=took_s) is due


@pytest.mark.parametrize(
    ("newest", "kept"),
    [
        ({}, DAILY),
        ({DAILY: timedelta(days=1)}, DAILY),
        ({DAILY: timedelta(hours=3)}, HOURLY),
        ({DAILY: timedelta(hours=3), HOURLY: timedelta(hours=1)}, HOURLY),
        ({DAILY: timedelta(hours=3), HOURLY: timedelta(minutes=20)}, FREQUENT),
        ({DAILY: timedelta(minutes=20)}, FREQUENT),
    ],
    ids=["first", "of-the-day", "of-the-hour", "next-hour", "within-the-hour", "after-the-daily"],
)
def test_the_first_of_a_day_and_of_an_hour_are_kept_longer(newest: dict[str, timedelta], kept: str) -> None:
    assert schedule.kept_as(NOW, {name: NOW - age for name, age in newest.items()}) == kept


class FakeEtcd(Etcdctl):
    """Three members of a cluster; this one follows."""

    def first_cluster(self, endpoints: Any) -> EtcdMembers | None:
        urls = [f"https://10.0.0.{index}:2379" for index in range(3)]
        members = tuple(
            Member(id=index, name=f"lab-etcd-{index}", learner=False, peer_urls=(), client_urls=(url,))
            for index, url in enumerate(urls)
        )
        return EtcdMembers(id=255, members=members, endpoint=urls[0])

    def status(self, endpoint: str) -> EtcdMemberStatus:
        if endpoint.endswith(".2:2379"):
            raise EtcdError("does not answer")
        member = int(endpoint[-6])
        return EtcdMemberStatus(
            member=member, cluster=255, leader=0, learner=False, version="3.6.8", db_size=4, revision=7
        )


def node(index: int = 1) -> NodeConfig:
    places = {f"lab-etcd-{number}": f"10.0.0.{number}" for number in range(3)}
    return NodeConfig(
        machine=f"lab-etcd-{index}", role="etcd", index=index, address=f"10.0.0.{index}", version="3.6.8",
        stores={"etcd": places},
    )  # fmt: skip


@contextmanager
def storage_as_declared(folder: Path, *, name: str | None) -> Iterator[Live]:
    """Run the lab's Azure with the account for backups as the program declares it: retention, and the condition of the
    member of this name; None for several members with one identity."""
    with running(folder) as live, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(live.cloud.ca_certificate))
        estate.build(live, with_machine=False)
        live.make(ACCOUNT, account())
        for kept in schedule.CLASSES:
            container = f"{ACCOUNT}/blobServices/default/containers/{kept}"
            live.make(container, {})
            live.make(f"{container}/immutabilityPolicies/default", RETENTION)
        give(live, condition=own_backups(member(name)) if name else NO_DELETION, conditionVersion="2.0")
        yield live


@pytest.fixture(name="live", scope="module")
def _live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with storage_as_declared(tmp_path_factory.mktemp("cloud"), name="lab-etcd-1") as live:
        yield live


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.fixture(name="backup")
def _backup(live: Live, tmp_path: Path) -> Backup:
    database = b"\0" * 512
    (tmp_path / "db").write_bytes(database + hashlib.sha256(database).digest())
    etcdctl = program(tmp_path, "etcdctl", f'for target; do :; done; exec /bin/cp {tmp_path}/db "$target"')
    status = '{"hash":1,"revision":7,"totalKey":3,"totalSize":512,"version":"3.6.0"}'
    # In age's place: what it is given, and for whom it was told to encrypt.
    age = program(tmp_path, "age", 'for last; do :; done; { echo "$1"; cat; } > "${last#--output=}"')
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "left-behind").touch()
    return Backup(
        node=node(),
        settings=BackupSettings(environment="lab", url=URL.rstrip("/"), recipients=(KEY,), every_s=300.0),
        storage=Storage(url=URL.rstrip("/"), token=lambda: live.token("https://storage.azure.com")),
        etcdctl=FakeEtcd(program=etcdctl, certificate=tmp_path / "client.pem", authority=tmp_path / "ca.crt"),
        programs=Programs(etcdutl=program(tmp_path, "etcdutl", f"echo '{status}'"), age=age),
        scratch=scratch,
    )


def moment() -> datetime:
    """Return this moment, as the program takes it: the storage gives a blob its own time."""
    return datetime.now(tz=UTC).replace(microsecond=0)


def test_a_backup_arrives_whole_with_what_a_restore_must_know(backup: Backup) -> None:
    now = moment()
    made = backup.run(now=now, at_once=False).newest
    assert made is not None
    assert made.name == f"daily/etcd/{now:%Y-%m-%dT%H%M%SZ}-lab-etcd-1.db.gz.age"
    (found,) = backup.storage.backups(DAILY, "etcd")
    assert (made.revision, made.keys, made.size) == (7, 3, found.size)
    assert backup.storage.sha256(DAILY, found.name) == found.metadata["sha256"]
    known = {name: found.metadata[name] for name in ("format", "environment", "role", "cluster", "etcd", "taken")}
    assert known == {
        "format": "1", "environment": "lab", "role": "etcd", "cluster": "ff", "etcd": "3.6.8",
        "taken": f"{now:%Y-%m-%dT%H:%M:%SZ}",
    }  # fmt: skip
    assert not list(backup.scratch.iterdir())
    # The storage's own clock says how old it is: this one is new, so nobody's turn has come.
    seen = backup.run(now=datetime.now(tz=UTC), at_once=False)
    assert seen.newest == NewestBackup(name=made.name, made=found.made.timestamp(), size=found.size, revision=7, keys=3)
    assert (seen.rejected, seen.oldest) == (0, {DAILY: found.made.timestamp()})


def test_a_clock_that_is_not_the_storage_s_makes_none(backup: Backup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backup.storage.SKEW", timedelta(seconds=-1))
    with pytest.raises(StorageError, match=r"clock and the storage's are \d s apart: see `chronyc tracking`"):
        backup.run(now=moment(), at_once=True)


def test_what_lies_there_and_is_no_backup_holds_none_back(backup: Backup, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    now = moment() + timedelta(minutes=1)
    before = backup.run(now=now, at_once=False)
    for number in range(3):
        backup.storage.put(HOURLY, f"etcd/2039-01-01T00000{number}Z-lab-etcd-1.db.gz.age", file, {"format": "1"})
    seen = backup.run(now=now, at_once=False)
    assert (seen.newest, seen.rejected) == (before.newest, 3)
    assert "hourly/etcd/2039" in seen.rejected_why
    assert "it belongs to the environment ?" in seen.rejected_why


def test_the_leader_refuses_to_make_one_even_when_told_to(backup: Backup) -> None:
    leading = replace(backup, node=node(0))
    with pytest.raises(BackupError, match="lab-etcd-0 leads or is behind; one of lab-etcd-1 makes backups"):
        leading.run(now=NOW, at_once=True)


def test_without_a_quorum_the_learner_asks_nobody(backup: Backup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEtcd, "first_cluster", lambda *_: None)
    later = NOW + timedelta(hours=3)
    with pytest.raises(EtcdError, match="no member answers with a quorum"):
        backup.run(now=later, at_once=True)
    made = replace(backup, alone=True).run(now=later, at_once=True)
    assert made.newest is not None
    assert made.newest.revision == 7


def test_only_the_learner_saves_without_a_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_backup.NodeConfig, "read", classmethod(lambda _cls: node()))
    # The program sets it for the rest of its process, which is that of further tests here.
    monkeypatch.setattr(etcd_backup.os, "umask", lambda _mask: 0)
    for options in (["--now", "--without-quorum"], ["--without-quorum"]):
        monkeypatch.setattr("sys.argv", ["backup.run", *options])
        with pytest.raises(SystemExit):
            etcd_backup.main()


def test_nothing_can_be_written_twice_nor_in_another_s_name(backup: Backup, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    backup.storage.put(FREQUENT, "etcd/same-lab-etcd-1.db.gz.age", file, {})
    with pytest.raises(StorageError, match="409"):
        backup.storage.put(FREQUENT, "etcd/same-lab-etcd-1.db.gz.age", file, {})
    for name in ("etcd/x-lab-etcd-2.db.gz.age", "events/x-lab-etcd-1.db.gz.age"):
        with pytest.raises(StorageError, match="403 AuthorizationPermissionMismatch"):
            backup.storage.put(FREQUENT, name, file, {})
    with pytest.raises(StorageError, match="403 AuthorizationPermissionMismatch"):
        list(backup.storage.backups(FREQUENT, "events"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"etcdctl": "exit 1"}, "etcdctl: no message"),
        ({"etcdctl": 'for target; do :; done; echo short > "$target"'}, "was cut short"),
        ({"etcdctl": 'for target; do :; done; head -c 544 /dev/zero > "$target"'}, "hash is wrong"),
        ({"etcdutl": "echo '{}'"}, "did not say"),
        ({"age": "echo 'age: error: malformed recipient' >&2; exit 1"}, "not encrypted: age: error"),
    ],
    ids=["not-saved", "cut-short", "wrong-hash", "no-status", "not-encrypted"],
)
def test_what_is_not_whole_is_not_kept(backup: Backup, tmp_path: Path, change: dict[str, str], said: str) -> None:
    for name, script in change.items():
        program(tmp_path, name, script)
    before = [found.name for found in backup.storage.backups(HOURLY, "etcd")]
    with pytest.raises(SnapshotError, match=said):
        backup.run(now=NOW + timedelta(hours=1), at_once=True)
    assert [found.name for found in backup.storage.backups(HOURLY, "etcd")] == before
    assert not list(backup.scratch.iterdir())


def test_a_disk_that_is_nearly_full_is_left_to_etcd(backup: Backup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "SPARE", 2**70)
    with pytest.raises(SnapshotError, match="which a backup of 4 bytes would take from etcd"):
        backup.run(now=NOW + timedelta(days=1), at_once=True)


VAULT = "https://lh-lab-0123.vault.azure.net"
STORAGE = "https://lhlab0123.blob.core.windows.net"


class Told:
    """A vault with one answer."""

    url = VAULT

    def __init__(self, answer: str | VaultError) -> None:
        self.answer = answer

    def read(self, _name: str) -> str:
        if isinstance(self.answer, VaultError):
            raise self.answer
        return self.answer


def told(**changes: Any) -> str:
    """Return the vault's secret, with changes."""
    return json.dumps({"environment": "lab", "url": STORAGE, "recipients": [KEY], "every_s": 60, **changes})


@pytest.mark.parametrize(
    ("answer", "declared", "said"),
    [
        (WithheldError("secret backups: the answer was 403"), False, ""),
        (AwayError("secret backups: no token"), True, "no token"),
        ("{}", True, "cannot be read: run `longhaul up`"),
        (
            told(url="https://stranger.blob.core.windows.net"),
            True,
            "the environment's storage is https://lhlab0123.blob",
        ),
        (told(), True, "no member answers"),
    ],
    ids=["not-declared", "vault-away", "unreadable", "elsewhere", "no-quorum"],
)
def test_a_look_says_what_is_wrong_and_keeps_what_was_known(
    answer: Any, declared: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = NewestBackup(name="daily/x", made=1.0, size=2, revision=3, keys=4)
    known = BackupStorageState(newest=newest, took_s=5.0, rejected=6, rejected_why="it is empty", oldest={"daily": 1.0})
    state.write(BackupState(declared=True, looked=1.0, **vars(known)), "etcd", tmp_path)
    monkeypatch.setattr(state.last_storage_state, "__defaults__", (tmp_path,))
    monkeypatch.setattr(Storage, "backups", lambda *_: iter(()))
    monkeypatch.setattr(Etcdctl, "first_cluster", lambda *_: None)
    found = etcd_backup.look(node(), Told(answer), now=NOW, at_once=False)  # type: ignore[arg-type]
    assert (found.declared, found.newest) == (declared, newest if declared else None)
    assert found.rejected == (6 if declared else 0)
    assert said in found.error
    assert bool(said) == bool(found.error)


def test_an_hour_without_the_storage_is_told_and_over_with_the_next_look(
    backup: Backup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = NewestBackup(name="daily/x", made=NOW.timestamp(), size=2, revision=3, keys=4)
    state.write(BackupState(declared=True, looked=NOW.timestamp(), newest=newest), "etcd", tmp_path)
    monkeypatch.setattr(state.last_storage_state, "__defaults__", (tmp_path,))
    monkeypatch.setattr(etcd_backup, "Etcdctl", lambda **_: backup.etcdctl)

    def away(*_: Any) -> Iterator[StoredBackup]:
        raise StorageError("GET daily: TimeoutError")

    def look(minutes: int) -> BackupState:
        found = etcd_backup.look(node(), Told(told()), now=NOW + timedelta(minutes=minutes), at_once=False)  # type: ignore[arg-type]
        state.write(found, "etcd", tmp_path)
        return found

    monkeypatch.setattr(Storage, "backups", away)
    for minutes in range(1, 61):
        found = look(minutes)
        assert (found.newest, found.error) == (newest, "GET daily: TimeoutError")
    assert 'longhaul_backup_failed{etcd="etcd"} 1' in (tmp_path / state.METRICS).read_text()
    made = replace(newest, made=(NOW + timedelta(minutes=61)).timestamp())
    monkeypatch.setattr(Backup, "_make", lambda *_: made)
    monkeypatch.setattr(Storage, "backups", lambda *_: iter(()))
    monkeypatch.setattr(etcd_backup.time, "clock_gettime", lambda _clock: 9e9)
    found = look(61)
    assert (found.newest, found.error) == (made, "")


def test_metrics_have_times_and_not_ages() -> None:
    newest = NewestBackup(name="daily/x", made=1.5e9, size=2, revision=3, keys=4)
    found = BackupState(declared=True, looked=1.6e9, every_s=300.0, newest=newest, took_s=12.0, rejected=2, error="x")
    lines = state.metrics(found, "events")
    assert 'longhaul_backup_newest_timestamp_seconds{etcd="events"} 1500000000\n' in lines
    assert 'longhaul_backup_newest_duration_seconds{etcd="events"} 12\n' in lines
    assert 'longhaul_backup_rejected{etcd="events"} 2\n' in lines
    assert 'longhaul_backup_failed{etcd="events"} 1\n' in lines
    assert state.metrics(BackupState(declared=False, looked=1.0), "etcd") == ""
