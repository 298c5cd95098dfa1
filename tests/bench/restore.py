"""Benchmarks of a restore on one member: from a backup in storage to new data, and to an etcd that commits."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import tools
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.restore.age_header import identities, read_header, unwrap, wrap
from tests.support.ports import free_ports

SIZES = {"100 MB": 100 * 10**6, "1 GB": 10**9, "2 GiB": 2 * 2**30}
VALUE = 10_000
"""Bytes of a value, as of a large object of Kubernetes. Half of them are random."""
AT_ONCE = 100
"""Values in a transaction: etcd takes 128 operations, and 1.5 MiB."""


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    programs = tools.ensure(["etcd", "age"], log_dir=folder, progress=lambda line: print(line, file=sys.stderr))
    library = Path(__file__).parents[2] / "images/rootfs/usr/local/lib/longhaul"
    sys.path.insert(0, str(library))
    for name, size in SIZES.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        yield from (
            (f"restore of {name}: {figure}", value) for figure, value in _restored(place, size, programs).items()
        )
        subprocess.run(["rm", "-rf", place], check=True)


def _restored(folder: Path, size: int, programs: dict[str, Path]) -> dict[str, float]:
    from backup import snapshot
    from backup.snapshot import Programs
    from restore.data import Data, Membership

    from contract.documents.restore import BackupSource

    used = Programs(etcdutl=str(programs["etcdutl"]), age=str(programs["age"]))
    key, once = (_key(folder / name, programs) for name in ("key", "once"))
    plain = folder / "plain.db"
    with _etcd(folder / "old", programs, "--unsafe-no-fsync") as url:
        _fill(url, size, programs)
        subprocess.run(
            [programs["etcdctl"], f"--endpoints={url}", "snapshot", "save", plain], check=True, capture_output=True
        )
    inside = snapshot.check(plain, used)
    backup = folder / "backup"
    snapshot.encrypt(plain, backup, [key], used)
    plain.unlink()
    header = read_header(backup.read_bytes()[:4096])
    file_key = unwrap(header, identities(folder / "key"))
    source = BackupSource(
        kept="daily",
        name="backup",
        sha256=_sha256(backup),
        snapshot_sha256=inside.sha256,
        revision=inside.revision,
        keys=inside.keys,
        size=backup.stat().st_size,
        plain_size=inside.size,
        header=wrap(file_key, once),
        skip=len(header),
    )
    data = Data(disk=folder, programs=used, owner=getpass.getuser(), is_mounted=Path.is_dir)
    peers = {"default": "http://127.0.0.1:1"}
    began = time.monotonic()
    data.rebuild(
        source,
        Membership(name="default", peers=peers, token="bench", bump=BUMP),
        storage=_Folder(folder),  # type: ignore[arg-type]
        key=folder / "once",
        note=lambda _identity: None,
    )
    rebuilt = time.monotonic() - began
    with _etcd(data.folder, programs) as url:
        _healthy(url, programs)
        started = time.monotonic() - began - rebuilt
    return {
        "database, MB": inside.size / 10**6,
        "backup, MB": source.size / 10**6,
        "new data, s": rebuilt,
        "etcd until it commits, s": started,
    }


@dataclass(frozen=True)
class _Folder:
    """Storage that is a folder: what the network takes is not measured."""

    folder: Path

    def fetch(self, _kept: str, name: str, to: Path) -> str:
        found = hashlib.sha256()
        with (self.folder / name).open("rb") as content, to.open("wb") as file:
            while chunk := content.read(2**20):
                found.update(chunk)
                file.write(chunk)
        return found.hexdigest()


def _key(path: Path, programs: dict[str, Path]) -> str:
    subprocess.run([programs["age-keygen"], "-o", path], check=True, capture_output=True)
    done = subprocess.run([programs["age-keygen"], "-y", path], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def _etcd(data: Path, programs: dict[str, Path], *more: str) -> Iterator[str]:
    client, peer = free_ports(2)
    url = f"http://127.0.0.1:{client}"
    command: list[Any] = [programs["etcd"], f"--data-dir={data}", f"--listen-client-urls={url}", "--log-level=error"]
    command += [f"--advertise-client-urls={url}", f"--listen-peer-urls=http://127.0.0.1:{peer}"]
    command += ["--quota-backend-bytes=8589934592", *more]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _healthy(url, programs)
            yield url
        finally:
            process.terminate()


def _healthy(url: str, programs: dict[str, Path]) -> None:
    words = [programs["etcdctl"], f"--endpoints={url}", "endpoint", "health", "--command-timeout=1s"]
    deadline = time.monotonic() + 300
    while subprocess.run(words, capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise TimeoutError(url)


def _fill(url: str, size: int, programs: dict[str, Path]) -> None:
    for first in range(0, size // VALUE, AT_ONCE):
        puts = "\n".join(f"put key-{first + one} {_value()}" for one in range(AT_ONCE))
        subprocess.run(
            [programs["etcdctl"], f"--endpoints={url}", "--command-timeout=120s", "txn"],
            input=f"\n{puts}\n\n\n",
            text=True,
            check=True,
            capture_output=True,
        )


def _value() -> str:
    return os.urandom(VALUE // 4).hex() + json.dumps("x" * (VALUE // 2 - 2)).strip('"')


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
