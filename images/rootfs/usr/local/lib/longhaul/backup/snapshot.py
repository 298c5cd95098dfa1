"""A snapshot of this member: saved, checked, and encrypted for the recipients in the environment's file."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etcd.client import Etcdctl

SAVE_S = 600.0
"""Longest duration of each step in seconds: the largest database, 8 GiB, at 14 MB/s."""

PAGE = 512
"""Number of bytes of which the size of etcd's database is a multiple. The remainder of a file's size shows whether a
hash follows the database (etcd 3.6, etcdutl/snapshot, ``hasChecksum``)."""

SPARE = 256 * 2**20
"""Free space, in bytes, that a backup leaves to etcd on the disk."""


class SnapshotError(Exception):
    """Raised if there is no snapshot, if the snapshot is incomplete, or if it cannot be encrypted."""


@dataclass(frozen=True, kw_only=True)
class SnapshotContent:
    """Content of a snapshot."""

    revision: int
    keys: int
    """Number of keys, in all stored revisions."""
    size: int
    """Size of the database in bytes."""
    sha256: str
    """Hash of the database that etcd appended to the snapshot, hexadecimal."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Paths of the programs that check, compress and encrypt snapshots."""

    etcdutl: str = "/usr/local/bin/etcdutl"
    age: str = "/usr/local/bin/age"
    gzip: str = "gzip"


def save(etcdctl: Etcdctl, endpoint: str, file: Path, *, size: int) -> None:
    """Save a snapshot of the member at ``endpoint``, whose database has ``size`` bytes. Raise ``SnapshotError`` if the
    disk has too little room."""
    free = shutil.disk_usage(file.parent).free
    if free < 2 * size + SPARE:
        raise SnapshotError(f"the disk has {free} bytes left, which a backup of {size} bytes would take from etcd")
    certificate = str(etcdctl.certificate)
    trust = [f"--cert={certificate}", f"--key={certificate}", f"--cacert={etcdctl.authority}"]
    _run([etcdctl.program, f"--endpoints={endpoint}", *trust, "snapshot", "save", str(file)])


def check(file: Path, programs: Programs) -> SnapshotContent:
    """Return the content of a snapshot. Raise ``SnapshotError`` if the snapshot's hash is missing or wrong."""
    recorded = _hash_behind(file)
    answer = _run([programs.etcdutl, "snapshot", "status", str(file), "--write-out=json"])
    try:
        status = json.loads(answer)
        return SnapshotContent(
            revision=int(status["revision"]),
            keys=int(status["totalKey"]),
            size=int(status["totalSize"]),
            sha256=recorded,
        )
    except (ValueError, KeyError, TypeError):
        raise SnapshotError("etcdutl did not say what is in the snapshot") from None


def encrypt(file: Path, target: Path, recipients: Sequence[str], programs: Programs) -> None:
    """Compress a file, and encrypt it for all recipients."""
    command = [programs.age, *(f"--recipient={recipient}" for recipient in recipients), f"--output={target}"]
    with (
        subprocess.Popen([programs.gzip, "--fast", "--stdout", str(file)], stdout=subprocess.PIPE) as packed,
        subprocess.Popen(command, stdin=packed.stdout, stderr=subprocess.PIPE, text=True) as encrypted,
    ):
        if packed.stdout is not None:
            packed.stdout.close()
        try:
            messages = encrypted.communicate(timeout=SAVE_S)[1]
        except subprocess.TimeoutExpired:
            packed.kill()
            encrypted.kill()
            raise SnapshotError("the encryption did not end") from None
    if encrypted.returncode or packed.returncode:
        words = messages.strip().splitlines() or [f"gzip ended with {packed.returncode}"]
        raise SnapshotError(f"not encrypted: {words[0]}")


def _hash_behind(file: Path) -> str:
    """Return the hash that follows the database. Raise ``SnapshotError`` if it is missing or is not the hash of the
    database."""
    length = hashlib.sha256().digest_size
    size = file.stat().st_size
    if size % PAGE != length:
        raise SnapshotError(f"the snapshot of {size} bytes was cut short: no hash is behind it")
    hasher, left = hashlib.sha256(), size - length
    with file.open("rb") as content:
        while left:
            chunk = content.read(min(left, 2**20))
            hasher.update(chunk)
            left -= len(chunk)
        recorded = content.read()
    if hasher.digest() != recorded:
        raise SnapshotError("the snapshot's hash is wrong")
    return recorded.hex()


def _run(command: Sequence[str]) -> str:
    what = Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SAVE_S, env={}, check=False)
    except subprocess.TimeoutExpired:
        raise SnapshotError(f"{what} did not end within {SAVE_S:.0f} s") from None
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise SnapshotError(f"{what}: {words[-1]}")
    return done.stdout
