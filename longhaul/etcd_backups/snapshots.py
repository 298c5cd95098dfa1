"""Opens a backup: fetches it, checks it, decrypts it with the operator's key, and restores it into a folder.

The decrypted snapshot contains everything that the cluster stores. The snapshot is in a folder that nobody else can
read, and that the caller deletes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from components.model.backups.storage import account_name
from longhaul.etcd_backups.listing import ListedBackup, control_access
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

BUMP = 1_000_000_000
"""Number of revisions by which a restored etcd cluster is ahead of its backup, so that no revision goes backwards. It
is more than the revisions of a week at 1,500 a second (etcd.io, "Disaster recovery")."""

HASH_LENGTH = 32
STEP_S = 1800.0
"""Time limit of each program, seconds."""


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A backup that is restored into a folder."""

    data: Path
    """Data folder of an etcd member."""
    revision: int
    keys: int


def open_snapshot(
    environment: Environment, backup: ListedBackup, *, identity: Path, folder: Path, programs: Mapping[str, Path]
) -> Path:
    """Return the path of the backup's snapshot in ``folder``. Raise ``CommandError`` when it cannot be fetched, or is
    not what the member made."""
    if backup.flaw:
        raise CommandError(f"{backup.name} cannot be restored: {backup.flaw}")
    control, place = control_access(environment)
    container, _, name = backup.name.partition("/")
    sealed, plain = folder / "sealed", folder / "snapshot.db"
    try:
        control.fetch_backup(place, account_name(environment), container, name, sealed)
    except CloudError as error:
        raise CommandError(f"{backup.name} does not come: {error}", code=Exit.UNREACHABLE) from None
    if sealed.stat().st_size != backup.size_bytes:
        raise CommandError(f"{backup.name} was cut short: {sealed.stat().st_size} of {backup.size_bytes} bytes came")
    if (digest := _sha256(sealed)) != backup.sha256:
        raise CommandError(f"{backup.name} is not what was made: its SHA-256 is {digest}, not {backup.sha256}")
    _decrypt(backup, sealed, plain, identity=identity, age=programs["age"])
    sealed.unlink()
    if _hash_behind(plain) != backup.snapshot_sha256:
        raise CommandError(f"{backup.name}: the snapshot in it is another than the member saved")
    return plain


def restore_snapshot(snapshot: Path, *, folder: Path, programs: Mapping[str, Path]) -> Restored:
    """Restore a snapshot into a folder as the data of a single member. Raise ``CommandError`` when etcd does not accept
    it."""
    data = folder / "restored"
    bump = [f"--bump-revision={BUMP}", "--mark-compacted", f"--data-dir={data}"]
    _run([str(programs["etcdutl"]), "snapshot", "restore", str(snapshot), *bump])
    database = data / "member" / "snap" / "db"
    status = json.loads(_run([str(programs["etcdutl"]), "snapshot", "status", str(database), "--write-out=json"]))
    return Restored(data=data, revision=int(status["revision"]), keys=int(status["totalKey"]))


def _decrypt(backup: ListedBackup, sealed: Path, plain: Path, *, identity: Path, age: Path) -> None:
    command = [str(age), "--decrypt", "--identity", str(identity), str(sealed)]
    with (
        plain.open("wb") as target,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as opened,
    ):
        unpacked = subprocess.run(["gunzip"], stdin=opened.stdout, stdout=target, stderr=subprocess.PIPE, check=False)
        if opened.stdout is not None:
            opened.stdout.close()
        errors = opened.stderr.read().decode(errors="replace") if opened.stderr else ""
    if opened.returncode:
        first = next(iter(errors.strip().splitlines()), "age gives no reason")
        raise CommandError(f"{backup.name} cannot be decrypted with {identity}: {first}")
    if unpacked.returncode:
        raise CommandError(f"{backup.name} is not compressed as backups are: {unpacked.stderr.decode().strip()}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_behind(snapshot: Path) -> str:
    """Return the hash that etcd appended to the database. `etcdutl snapshot restore` compares it with the database
    itself."""
    with snapshot.open("rb") as file:
        file.seek(max(0, snapshot.stat().st_size - HASH_LENGTH))
        return file.read().hex()


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_S, check=False)
    except subprocess.TimeoutExpired:
        raise CommandError(f"{' '.join(command[1:3])} did not end within {STEP_S:.0f} s") from None
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason"]
        raise CommandError(f"etcd does not take the snapshot: {words[-1]}")
    return done.stdout
