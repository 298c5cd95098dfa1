"""A backup of a real etcd cluster, through the lab's blob storage, and what can be had back from it with the key."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from backup.run import Backup, BackupError
from backup.snapshot import Programs
from backup.storage import Storage
from machine.config import client_url

from components.model import Role, load
from components.model.backups.section import Backups
from contract.documents.backup_settings import BackupSettings
from lab import tools
from longhaul.etcd_backups.listing import backups as backups_of
from longhaul.etcd_backups.snapshots import BUMP, open_snapshot, restore_snapshot
from longhaul.terminal.exits import CommandError
from tests.images.backup.test_run import storage_as_declared
from tests.images.etcd.test_membership import FIRST, SECOND, THIRD, found, join
from tests.images.fakes import FakeVault
from tests.images.machines import STACK, Control, Place
from tests.lab.cloud.conftest import Live
from tests.lab.cloud.test_blobs import URL

pytestmark = pytest.mark.loopback

KEYS = 50


@pytest.fixture(name="binaries", scope="module")
def _binaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(["etcd", "age"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(name="live", scope="module")
def _live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with storage_as_declared(tmp_path_factory.mktemp("cloud"), name=None) as live:
        yield live


@pytest.fixture(name="control")
def _control(tmp_path: Path, vault: FakeVault, binaries: dict[str, Path]) -> Iterator[Control]:
    control = Control(tmp_path, vault, members=3, tools=binaries)
    for name in (FIRST, SECOND, THIRD):
        control[name].write()
    yield control
    control.close()


def backup_of(place: Place, live: Live, recipient: str, binaries: dict[str, Path]) -> Backup:
    scratch = place.folder / "scratch"
    scratch.mkdir()
    return Backup(
        node=place.node,
        settings=BackupSettings(environment="lab", url=URL.rstrip("/"), recipients=(recipient,), every_s=300.0),
        storage=stored_by(live),
        etcdctl=place.etcdctl,
        programs=Programs(etcdutl=str(binaries["etcdutl"]), age=str(binaries["age"])),
        scratch=scratch,
    )


def test_what_a_follower_saved_can_be_had_back(
    control: Control, live: Live, binaries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.txt"
    subprocess.run([binaries["age-keygen"], "-o", key], check=True, capture_output=True)
    recipient = subprocess.run([binaries["age-keygen"], "-y", key], check=True, capture_output=True, text=True).stdout
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    for number in range(KEYS):
        control[FIRST].etcdctl.run(client_url(control[FIRST].node.address), "put", f"key-{number}", "value")
    backups = {name: backup_of(control[name], live, recipient.strip(), binaries) for name in (FIRST, SECOND, THIRD)}
    leader = next(name for name, one in backups.items() if _leads(one))
    with pytest.raises(BackupError, match=f"{leader} leads"):
        backups[leader].run(now=datetime.now(tz=UTC), at_once=True)
    follower = next(name for name in backups if name != leader)
    newest = backups[follower].run(now=datetime.now(tz=UTC).replace(microsecond=0), at_once=False).newest
    assert newest is not None
    kept, _, blob = newest.name.partition("/")
    (seen,) = [one for one in stored_by(live).backups(kept, "etcd") if one.name == blob]
    assert (int(seen.metadata["revision"]), int(seen.metadata["keys"])) == (newest.revision, newest.keys)

    monkeypatch.setattr("longhaul.etcd_backups.snapshots.account_name", lambda _environment: "lhlabsnapshots")
    monkeypatch.setattr("longhaul.etcd_backups.listing.account_name", lambda _environment: "lhlabsnapshots")
    lab = load(STACK).model_copy(update={"backups": Backups(recipients=(recipient.strip(),))})
    (listed,) = backups_of(lab, (Role.ETCD,), now=datetime.now(tz=UTC))
    folder = tmp_path / "opened"
    folder.mkdir()
    snapshot = open_snapshot(lab, listed, identity=key, folder=folder, programs=binaries)
    again = restore_snapshot(snapshot, folder=folder, programs=binaries)
    assert again.revision == newest.revision + BUMP
    assert again.keys >= KEYS
    other = tmp_path / "other.txt"
    subprocess.run([binaries["age-keygen"], "-o", other], check=True, capture_output=True)
    with pytest.raises(CommandError, match="cannot be decrypted"):
        open_snapshot(lab, listed, identity=other, folder=folder, programs=binaries)


def _leads(backup: Backup) -> bool:
    status = backup.etcdctl.status(client_url(backup.node.address))
    return status.leader == status.member


def stored_by(live: Live) -> Storage:
    return Storage(url=URL.rstrip("/"), token=lambda: live.token("https://storage.azure.com"))
