"""Record of a restore on this machine: its identity, and its progress. It survives a restart of the machine."""

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
"""Folder of the record, on the system disk: the data disk may be lost with its content. While its file ``record``
exists, no backup is made; while ``hold`` exists, neither etcd nor kube-apiserver starts (their units)."""


class RestoreError(Exception):
    """Raised when a step is not done, with the reason."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The files of the record."""

    folder: Path = FOLDER

    def read(self) -> Record | None:
        """Return the restore under way, or the last one that was finished; None without any."""
        for name in ("record", "finished"):
            try:
                return Record(**json.loads((self.folder / name).read_text()))
            except FileNotFoundError:
                continue
            except (ValueError, TypeError):
                raise RestoreError(f"{self.folder / name} cannot be read: look at it, and remove it") from None
        return None

    def under_way(self) -> Record | None:
        """Return the restore that is under way; None without any."""
        return self.read() if (self.folder / "record").exists() else None

    def write(self, record: Record) -> Record:
        """Replace the record, and return it."""
        self._put("record", json.dumps(asdict(record)) + "\n")
        return record

    def hold(self, id_: str) -> None:
        """Keep etcd or kube-apiserver from being started, by any means."""
        self._put("hold", id_ + "\n")

    def holding_restore(self) -> str:
        """Return the restore that keeps this machine's service from being started; empty without one."""
        try:
            return (self.folder / "hold").read_text().strip()
        except FileNotFoundError:
            return ""

    def release(self) -> None:
        """Let this machine's service be started again."""
        (self.folder / "hold").unlink(missing_ok=True)
        sync_folder(self.folder)

    def forget(self) -> None:
        """Delete the record of a restore."""
        (self.folder / "record").unlink(missing_ok=True)
        sync_folder(self.folder)

    def finish(self, record: Record) -> None:
        """Record that the restore is over."""
        self._put("finished", json.dumps({**asdict(record), "step": int(Step.FINISHED)}) + "\n")
        self.forget()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Do one step at a time: the command that began another step may have been killed."""
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
    """Sync the names in a folder, so that a power cut loses none."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
