"""Data of a restored member: the old data is set aside, and new data is made from a backup.

This module starts no unit, and deletes only remains of an earlier attempt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backup import snapshot
from backup.snapshot import Programs, SnapshotContent, SnapshotError
from backup.storage import Storage, StorageError
from etcd.wal import WalError, WalIdentity, identity

from contract.documents.restore import BackupSource
from restore.record import RestoreError, sync_folder

LIMIT_S = 3600.0
"""Longest duration of each program in seconds: the largest database, 8 GiB, at 3 MB/s."""


@dataclass(frozen=True, kw_only=True)
class Membership:
    """The new etcd cluster, and this member of it."""

    name: str
    """Name of this member."""
    peers: Mapping[str, str]
    """Peer URLs of all members, by name."""
    token: str
    """Token from which etcd derives the ids of the cluster and of the members. A token that was never used gives new
    ids, so the new cluster refuses a member with old data."""
    bump: int
    """Number of revisions by which the new data is ahead of the backup."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data folder of this machine's member, and the folders beside it."""

    disk: Path
    """Mount point of the data disk."""
    programs: Programs
    owner: str = "etcd"
    """User and group of the data."""
    is_mounted: Callable[[Path], bool] = os.path.ismount

    @property
    def folder(self) -> Path:
        """Return etcd's data folder."""
        return self.disk / "etcd"

    def aside(self, id_: str) -> Path:
        """Return the folder into which the restore ``id_`` moves existing data."""
        return self.disk / f"etcd-aside-{id_}"

    def asides(self) -> list[str]:
        """Return the folders that restores have set aside."""
        return sorted(str(path) for path in self.disk.glob("etcd-aside-*"))

    def free(self) -> int:
        """Return the free space of the disk in bytes."""
        return shutil.disk_usage(self.disk).free if self.disk.is_dir() else 0

    def cluster(self) -> str:
        """Return the id of the etcd cluster to which the data belongs, hexadecimal; empty without data, or if the data
        is damaged."""
        try:
            wal = identity(self.folder)
        except (WalError, OSError):
            return ""
        return f"{wal.cluster:x}" if wal else ""

    def set_aside(self, id_: str) -> None:
        """Move the data to the folder of the restore ``id_``. Raise ``RestoreError`` if no disk is mounted, or if that
        folder already exists."""
        if not self.is_mounted(self.disk):
            raise RestoreError(f"no disk is mounted at {self.disk}: journalctl --unit longhaul-local-ssd says why")
        if not self.folder.exists():
            return
        if not any(self.folder.iterdir()):
            self.folder.rmdir()
        elif self.aside(id_).exists():
            raise RestoreError(f"both {self.folder} and {self.aside(id_)} hold data: move one of them away by hand")
        else:
            self.folder.rename(self.aside(id_))
            sync_folder(self.disk)

    def put_back(self, id_: str) -> None:
        """Move the data back that the restore ``id_`` has set aside. Raise ``RestoreError`` if there is other data."""
        if not self.aside(id_).exists():
            return
        if self.folder.exists():
            raise RestoreError(f"both {self.folder} and {self.aside(id_)} hold data: move one of them away by hand")
        self.aside(id_).rename(self.folder)
        sync_folder(self.disk)

    def rebuild(
        self,
        source: BackupSource,
        membership: Membership,
        *,
        storage: Storage,
        key: Path,
        note: Callable[[WalIdentity], None],
    ) -> None:
        """Make new data from the backup. ``note`` is called with the identity of the data just before the data becomes
        etcd's."""
        work = self.disk / "restore"
        shutil.rmtree(work, ignore_errors=True)
        self._require_room(source)
        work.mkdir(mode=0o700)
        try:
            plain = self._opened(source, work, storage, key)
            made = work / "etcd"
            self._restore(plain, made, membership)
            plain.unlink()
            self._without_gaps(made)
            self._into_place(made, note)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _require_room(self, source: BackupSource) -> None:
        # The sealed backup, the snapshot, and the data with its write-ahead log.
        needed = source.size + 2 * source.plain_size + snapshot.SPARE
        if (free := self.free()) < needed:
            kept = ", ".join(self.asides()) or "nothing of an earlier restore"
            raise RestoreError(f"the disk has {free} bytes left, and {needed} are needed; set aside are: {kept}")

    def _opened(self, source: BackupSource, work: Path, storage: Storage, key: Path) -> Path:
        sealed, plain = work / "sealed", work / "snapshot.db"
        try:
            digest = storage.fetch(source.kept, source.name, sealed)
        except StorageError as error:
            raise RestoreError(f"the backup does not come: {error}") from None
        if digest != source.sha256:
            raise RestoreError(
                f"{source.kept}/{source.name} is not what was made: its SHA-256 is {digest}, not {source.sha256}"
            )
        _decrypt(sealed, plain, source, key=key, programs=self.programs)
        sealed.unlink()
        self._require_whole(plain, source)
        return plain

    def _require_whole(self, plain: Path, source: BackupSource) -> None:
        try:
            inside: SnapshotContent = snapshot.check(plain, self.programs)
        except SnapshotError as error:
            raise RestoreError(str(error)) from None
        if inside.sha256 != source.snapshot_sha256:
            raise RestoreError("the snapshot in the backup is another than the member saved")
        if (inside.revision, inside.keys) != (source.revision, source.keys):
            raise RestoreError(
                f"the snapshot holds revision {inside.revision} and {inside.keys} keys, and the member saved revision "
                f"{source.revision} and {source.keys} keys"
            )

    def _restore(self, plain: Path, made: Path, membership: Membership) -> None:
        own_url = membership.peers[membership.name]
        everyone = ",".join(f"{name}={url}" for name, url in membership.peers.items())
        _run(
            [
                self.programs.etcdutl,
                "snapshot",
                "restore",
                str(plain),
                f"--data-dir={made}",
                f"--name={membership.name}",
                f"--initial-cluster={everyone}",
                f"--initial-cluster-token={membership.token}",
                f"--initial-advertise-peer-urls={own_url}",
                f"--bump-revision={membership.bump}",
                "--mark-compacted",
            ]
        )

    def _without_gaps(self, made: Path) -> None:
        """Rewrite the database without its gaps, because the quota applies to the size of the file."""
        _run([self.programs.etcdutl, "defrag", f"--data-dir={made}"])

    def _into_place(self, made: Path, note: Callable[[WalIdentity], None]) -> None:
        wal = identity(made)
        if wal is None:
            raise RestoreError("etcdutl made no data")
        for path in (made, *made.rglob("*")):
            shutil.chown(path, self.owner, self.owner)
        made.chmod(0o700)
        if self.folder.exists():
            raise RestoreError(f"{self.folder} holds data again: has somebody started etcd by hand?")
        # etcdutl syncs the database; names of files and folders are synced here.
        os.sync()
        note(wal)
        made.rename(self.folder)
        os.sync()


def _decrypt(sealed: Path, plain: Path, source: BackupSource, *, key: Path, programs: Programs) -> None:
    command = [programs.age, "--decrypt", f"--identity={key}"]
    pipe = subprocess.PIPE
    with (
        plain.open("wb") as target,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as opened,
        subprocess.Popen(
            [programs.gzip, "--decompress", "--stdout"], stdin=opened.stdout, stdout=target, stderr=pipe
        ) as unpacked,
    ):
        if opened.stdin is None or opened.stdout is None or opened.stderr is None or unpacked.stderr is None:
            raise RestoreError("no pipes")
        opened.stdout.close()
        try:
            with sealed.open("rb") as content, opened.stdin as into:
                into.write(source.header)
                content.seek(source.skip)
                shutil.copyfileobj(content, into, 2**20)
        except BrokenPipeError:
            pass  # the program says why
        age_message = opened.stderr.read().decode(errors="replace")
        gzip_message = unpacked.stderr.read().decode(errors="replace")
    if opened.returncode:
        raise RestoreError(f"the backup is not decrypted: {_first(age_message)}")
    if unpacked.returncode:
        raise RestoreError(f"the backup is not compressed as backups are: {_first(gzip_message)}")


def _first(text: str) -> str:
    return next(iter(text.strip().splitlines()), "no reason is given")


def _run(command: Sequence[str]) -> None:
    what = " ".join((Path(command[0]).name, *command[1:3]))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env={}, check=False)
    except subprocess.TimeoutExpired:
        raise RestoreError(f"{what} did not end within {LIMIT_S:.0f} s") from None
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise RestoreError(f"{what}: {words[-1]}")
