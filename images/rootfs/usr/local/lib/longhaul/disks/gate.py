"""Refuse a data disk whose syncs are too slow for etcd, before the member joins its cluster.

Every write of an etcd cluster waits until a majority of the members' disks has synced it. So a member's disk is
measured when it is blank. There are up to three measurements, because the kernel still writes a new file system in the
background. A measurement writes 2,300 bytes at a time, each synced by fdatasync, like etcd's log (``fio --rw=write
--ioengine=sync --fdatasync=1 --bs=2300``). fio itself would add a dozen libraries of storage systems to the image. The
result is stored on the disk, and as metrics in Prometheus' text format.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from contract.documents.etcd_disk import LIMITS_PATH, Limits, limits_of_text
from contract.metrics import Metric
from contract.paths import SSD

DISK = Path(SSD)
DATA = DISK / "etcd"
"""Folder that etcd's unit makes once a disk has passed, and that only etcd may read. A disk with this folder is not
refused later, because its member may be needed for a quorum."""
RECORD = DISK / "disk-gate.json"
LIMITS = Path(LIMITS_PATH)
METRICS = Path("/var/lib/longhaul/metrics/disk-gate.prom")
"""File for a collector of text files, such as that of node_exporter."""

SYNC = Metric(
    "longhaul_disk_sync_seconds", "Time of fdatasync on the data disk, measured when it was blank", ("quantile",)
)
SYNC_LIMIT = Metric(
    "longhaul_disk_sync_limit_seconds", "Longest time of fdatasync with which a member joins", ("quantile",)
)

BYTES = 2300
"""Size of one write in bytes: the average in etcd's log on an observed cluster (IBM, "Using Fio to Tell Whether Your
Storage is Fast Enough for Etcd")."""

WRITES = 2000
"""Number of writes in one measurement. Twenty of them are above the 99th percentile. A local SSD needs half a second
for all writes."""

TRIES = 3
"""Number of measurements after which a disk is refused."""

LONGEST_S = 5.0
"""Longest duration of one measurement in seconds. A disk that needs longer takes more than 2.5 ms for a sync on
average."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Times of a disk's syncs, milliseconds, and the limits that applied."""

    writes: int
    median_ms: float
    p99_ms: float
    limits: Limits

    @property
    def fast_enough(self) -> bool:
        """Return whether both times are within their limits."""
        return self.median_ms <= self.limits.median_ms and self.p99_ms <= self.limits.p99_ms

    def __str__(self) -> str:
        """Return the result as part of a sentence."""
        return (
            f"fdatasync takes {self.median_ms:.2f} ms at the median (at most {self.limits.median_ms:g}) and "
            f"{self.p99_ms:.2f} ms at the 99th percentile (at most {self.limits.p99_ms:g}), over {self.writes} writes"
        )

    @classmethod
    def read(cls, path: Path) -> Measured | None:
        """Read an earlier result; None if there is no readable result."""
        try:
            raw = json.loads(path.read_text())
            return cls(**{**raw, "limits": Limits(**raw["limits"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None


def declared_limits(path: Path) -> Limits:
    """Return the environment's limits, or the defaults if the environment declares none."""
    return limits_of_text(path.read_text()) if path.exists() else Limits()


def measure(
    folder: Path,
    *,
    limits: Limits,
    writes: int = WRITES,
    sync: Callable[[int], None] = os.fdatasync,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Return the times of syncs in ``folder``. The file system must have room for 5 MB. Raise ``OSError`` if the folder
    cannot be written."""
    path = folder / ".disk-gate"
    block = os.urandom(BYTES)
    took: list[float] = []
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # Like etcd, whose log grows inside space that it has reserved.
        os.posix_fallocate(file, 0, writes * BYTES)
        began = clock()
        while len(took) < writes and clock() - began < LONGEST_S:
            os.write(file, block)
            before = clock()
            sync(file)
            took.append(1000 * (clock() - before))
    finally:
        os.close(file)
        path.unlink()
    took.sort()
    return Measured(writes=len(took), median_ms=took[len(took) // 2], p99_ms=took[len(took) * 99 // 100], limits=limits)


def metrics(measured: Measured) -> str:
    """Return the metrics in Prometheus' text format, in seconds."""
    return "".join(
        metric.text({("0.5",): times.median_ms / 1000, ("0.99",): times.p99_ms / 1000})
        for metric, times in ((SYNC, measured), (SYNC_LIMIT, measured.limits))
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def judged(
    folder: Path,
    *,
    record: Path,
    limits: Limits,
    writes: int = WRITES,
    sync: Callable[[int], None] = os.fdatasync,
) -> Measured:
    """Return the recorded result of a disk that has passed. Otherwise measure the disk until it is fast enough, at most
    :data:`TRIES` times, and record the last result."""
    before = Measured.read(record)
    if before and before.fast_enough:
        return before
    record.unlink(missing_ok=True)
    measured = measure(folder, limits=limits, writes=writes, sync=sync)
    for _ in range(TRIES - 1):
        if measured.fast_enough:
            break
        measured = measure(folder, limits=limits, writes=writes, sync=sync)
    _write(record, json.dumps(asdict(measured)))
    return measured


def _export(measured: Measured | None) -> None:
    """Write the metrics to the system disk. The learner's data disk outlives the system disk, so metrics of an earlier
    measurement are written again."""
    with suppress(OSError):
        if measured:
            _write(METRICS, metrics(measured))


def main() -> int:
    """Return 0 if the disk is fast enough or has a member's data, otherwise 1."""
    if DATA.exists():
        print(f"{DISK} has a member's data, and is not measured again")
        _export(Measured.read(RECORD))
        return 0
    measured = judged(DISK, record=RECORD, limits=declared_limits(LIMITS))
    _export(measured)
    if measured.fast_enough:
        print(f"{DISK}: {measured}")
        return 0
    print(
        f"the disk at {DISK} is too slow for etcd, and this member does not join: {measured}. Replace the machine, or "
        "take a machine type whose local SSD is faster (for the learner, one that takes Premium SSD v2 at its speed)",
        file=sys.stderr,
    )
    return 1
