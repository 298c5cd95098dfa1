"""Backups as they are listed, and one that is made at once."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput
from components.model import Environment, Role, load
from components.model.backups.section import Backups
from contract.documents.backups import StoredBackup
from contract.documents.node_answers import BackupState, NewestBackup, to_text
from longhaul.backups.on_demand import back_up
from longhaul.etcd_backups.listing import backups, warnings
from longhaul.etcd_backups.snapshots import open_snapshot
from longhaul.terminal.exits import CommandError, Exit

NOW = datetime(2030, 1, 2, tzinfo=UTC)
KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
TOLD = {
    "format": "1",
    "environment": "lab",
    "role": "etcd",
    "etcd": "3.6.8",
    "revision": "7",
    "keys": "3",
    "member": "lab-etcd-1",
    "sha256": "0a" * 32,
    "snapshot_sha256": "0b" * 32,
}


@pytest.fixture(name="environment")
def _environment(root: Path) -> Environment:
    lab = load(root / "stacks" / "Pulumi.lab.yaml")
    return lab.model_copy(update={"backups": Backups(recipients=(KEY,))})


def view(minutes: int, *, size: int = 5, **told: str) -> StoredBackup:
    """Return a backup as a member made it so many minutes ago, with changes of its metadata."""
    made = NOW - timedelta(minutes=minutes)
    metadata = {**TOLD, "taken": f"{made:%Y-%m-%dT%H:%M:%SZ}", **told}
    return StoredBackup(kept="daily", name=name(minutes), size=size, made=made, metadata=metadata)


def name(minutes: int) -> str:
    return f"etcd/{NOW - timedelta(minutes=minutes):%Y-%m-%dT%H%M%SZ}-lab-etcd-1.db.gz.age"


def stored(patch: pytest.MonkeyPatch, **containers: list[StoredBackup]) -> list[str]:
    asked: list[str] = []

    def answer(_place: Any, storage: str, container: str, prefix: str) -> list[StoredBackup]:
        asked.append(f"{storage}/{container}/{prefix}")
        return containers.get(container, [])

    patch.setattr(AzureControlAccess, "backups", staticmethod(answer))
    return asked


def test_backups_of_all_classes_are_listed_the_newest_first(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = stored(monkeypatch, daily=[view(1500), view(60)], frequent=[view(4)])
    found = backups(environment, (Role.ETCD,), now=NOW)
    assert [(one.name, one.age_s) for one in found] == [
        (f"frequent/{name(4)}", 240),
        (f"daily/{name(60)}", 3600),
        (f"daily/{name(1500)}", 90000),
    ]
    assert (found[0].revision, found[0].keys, found[0].size_bytes, found[0].flaw) == (7, 3, 5, "")
    assert {one.split("/")[1] for one in asked} == {"frequent", "hourly", "daily"}
    assert all(one.endswith("/etcd/") for one in asked)


@pytest.mark.parametrize(
    ("bad", "flaw"),
    [
        (view(1, size=0), "it is empty"),
        (view(1, format="2"), "its format is 2"),
        (view(1, environment="prod"), "it belongs to the environment prod"),
        (view(1, role="events"), "it belongs to the etcd cluster events"),
        (view(1, etcd="3.7.0"), "etcd 3.7.0 made it, which is newer"),
        (view(1, etcd="3.6.99"), ""),
    ],
    ids=["empty", "format", "environment", "role", "newer", "patch"],
)
def test_a_backup_that_is_not_for_here_is_told(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, bad: StoredBackup, flaw: str
) -> None:
    stored(monkeypatch, daily=[bad])
    (found,) = backups(environment, (Role.ETCD,), now=NOW)
    assert found.flaw.startswith(flaw)
    assert bool(found.flaw) == bool(flaw)


def test_what_is_wrong_with_the_storage_is_told(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    junk = view(1, keys="none")
    stored(monkeypatch, frequent=[view(5 * 1440)], daily=[junk, view(4)], hourly=[view(9 * 1440)])
    flawed, old = warnings(environment, backups(environment, (Role.ETCD,), now=NOW))
    assert f"etcd: 1 blob cannot be restored here or do not count as backups: daily/{junk.name}: its rev" in flawed
    assert "etcd: nothing deletes old backups: the oldest frequent one is 5 d old, and 1 d are kept" in old


def test_a_storage_that_does_not_answer_is_unreachable(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> list[StoredBackup]:
        raise AzureError("no answer")

    monkeypatch.setattr(AzureControlAccess, "backups", staticmethod(refuse))
    with pytest.raises(CommandError, match="does not list the frequent backups: no answer") as refused:
        backups(environment, (Role.ETCD,), now=NOW)
    assert refused.value.code is Exit.UNREACHABLE


def test_who_has_declared_none_is_told_how(environment: Environment) -> None:
    with pytest.raises(CommandError, match="declare `backups`"):
        backups(environment.model_copy(update={"backups": None}), (Role.ETCD,), now=NOW)


def answers(patch: pytest.MonkeyPatch, told: dict[str, Any]) -> list[str]:
    asked: list[str] = []

    def run(_place: Any, machine: str, _script: str, *, timeout_s: float) -> CommandOutput:
        asked.append(machine)
        said = told[machine]
        if isinstance(said, AzureError):
            raise said
        return CommandOutput(stdout=said, stderr="")

    patch.setattr(AzureControlAccess, "run_command", staticmethod(run))
    return asked


def test_the_first_member_that_may_makes_it(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = NewestBackup(name="frequent/etcd/x", made=1.0, size=2, revision=3, keys=4)
    state = BackupState(declared=True, looked=1.0, newest=newest)
    told = {"lab-etcd-0": to_text(replace(state, error="lab-etcd-0 leads")), "lab-etcd-1": to_text(state)}
    asked = answers(monkeypatch, told)
    assert back_up(environment, Role.ETCD) == "frequent/etcd/x"
    assert asked == ["lab-etcd-0", "lab-etcd-1"]


def test_each_members_reason_is_told_when_none_makes_one(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {
        "lab-etcd-0": to_text(BackupState(declared=True, looked=1.0, error="it leads")),
        "lab-etcd-1": AzureError("gone"),
        "lab-etcd-2": "no such command",
    }
    answers(monkeypatch, told)
    with pytest.raises(CommandError, match="etcd-0: it leads; lab-etcd-1: gone; lab-etcd-2: no such command"):
        back_up(environment, Role.ETCD)


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize(
    ("content", "told", "age", "said"),
    [
        (b"sealed", {}, 'exec cat "$4"', ""),
        (b"seal", {}, "", "was cut short: 4 of 6 bytes came"),
        (b"SEALED", {}, "", "is not what was made: its SHA-256 is"),
        (
            b"sealed",
            {},
            "echo 'age: error: no identity matched any of the recipients' >&2; exit 1",
            "no identity matched",
        ),
        (b"sealed", {"snapshot_sha256": "00" * 32}, 'exec cat "$4"', "another than the member saved"),
        (b"sealed", {"environment": "prod"}, "", "it belongs to the environment prod"),
        (AzureError("no answer"), {}, "", "does not come: no answer"),
    ],
    ids=["good", "cut-short", "wrong-hash", "wrong-key", "other-snapshot", "other-environment", "unreachable"],
)
def test_a_backup_is_opened_only_when_it_is_what_was_made(
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: bytes | AzureError,
    told: dict[str, str],
    age: str,
    said: str,
) -> None:
    snapshot = b"database" + bytes(range(32))
    sealed = gzip.compress(snapshot, mtime=0) if content == b"sealed" else content
    whole = len(sealed) if content == b"sealed" else 6
    right = hashlib.sha256(sealed if content == b"sealed" else b"sealed").hexdigest()  # type: ignore[arg-type]
    told = {"sha256": right, "snapshot_sha256": bytes(range(32)).hex(), **told}
    stored(monkeypatch, daily=[view(1, size=whole, **told)])

    def fetch(_place: Any, _storage: str, container: str, blob: str, to: Path) -> None:
        assert f"{container}/{blob}" == f"daily/{name(1)}"
        if isinstance(sealed, AzureError):
            raise sealed
        to.write_bytes(sealed)

    monkeypatch.setattr(AzureControlAccess, "fetch_backup", staticmethod(fetch))
    (backup,) = backups(environment, (Role.ETCD,), now=NOW)
    programs = {"age": script(tmp_path, "age", age)}
    if said:
        with pytest.raises(CommandError, match=said):
            open_snapshot(environment, backup, identity=tmp_path / "key", folder=tmp_path, programs=programs)
    else:
        found = open_snapshot(environment, backup, identity=tmp_path / "key", folder=tmp_path, programs=programs)
        assert found.read_bytes() == snapshot
