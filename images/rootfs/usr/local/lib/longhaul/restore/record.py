"""Record of a restore on this machine: the restore's id and its progress. The record survives a restart of the
machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path

from contract.documents.restore import Record, Step

FOLDER = Path("/var/lib/longhaul-restore")
"""Folder of the record. It is on the system disk, because the data disk may be lost. While the file ``record`` exists,
no backup is made. While the file ``hold`` exists, neither etcd nor kube-apiserver starts (by conditions of their
units)."""


class RestoreError(Exception):
    """Raised if a step is not done. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The files of the record."""

    folder: Path = FOLDER

    def read(self) -> Record | None:
        """Return the record of the restore under way, or of the last finished restore; None without any."""
        for name in ("record", "finished"):
            try:
                return Record(**json.loads((self.folder / name).read_text()))
            except FileNotFoundError:
                continue
            except (ValueError, TypeError):
                raise RestoreError(f"{self.folder / name} cannot be read: look at it, and remove it") from None
        return None

    def under_way(self) -> Record | None:
        """Return the record of the restore under way; None without any."""
        return self.read() if (self.folder / "record").exists() else None

    def write(self, record: Record) -> Record:
        """Replace the record, and return it."""
        self._put("record", json.dumps(asdict(record)) + "\n")
        return record

    def hold(self, id_: str) -> None:
        """Keep this machine's etcd or kube-apiserver from being started in any way."""
        self._put("hold", id_ + "\n")

    def holding_restore(self) -> str:
        """Return the id of the restore that keeps this machine's service from being started; empty without one."""
        try:
            return (self.folder / "hold").read_text().strip()
        except FileNotFoundError:
            return ""

    def release(self) -> None:
        """Allow this machine's service to be started again."""
        (self.folder / "hold").unlink(missing_ok=True)
        sync_folder(self.folder)

    def forget(self) -> None:
        """Delete the record of the restore under way."""
        (self.folder / "record").unlink(missing_ok=True)
        sync_folder(self.folder)

    def finish(self, record: Record) -> None:
        """Record that the restore is finished."""
        self._put("finished", json.dumps({**asdict(record), "step": int(Step.FINISHED)}) + "\n")
        self.forget()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other step runs, and hold the lock during the block. Another step may still run after its
        command was killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            flock(lock, LOCK_EX)
            yield

    def _put(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"{name}.new"
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.folder / name)
        sync_folder(self.folder)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder, so that a power cut loses no name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
