"""State of the backups as this member knows it, for ``longhaul-node status`` and as metrics."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from contract.documents.node_answers import BackupState, BackupStorageState, of_text, to_text
from contract.metrics import Metric

FOLDER = Path("/var/lib/longhaul-backup")
STATE = "state.json"
METRICS = "backup.prom"
"""Metrics in Prometheus' text format, for node_exporter's textfile collector."""

FAILED = Metric("longhaul_backup_failed", "Whether the last look or backup failed (1)", ("etcd",))
LOOKED = Metric("longhaul_backup_looked_timestamp_seconds", "Time of the last look", ("etcd",))
INTERVAL = Metric("longhaul_backup_interval_seconds", "Time between two backups", ("etcd",))
REJECTED = Metric("longhaul_backup_rejected", "Blobs in the storage that do not count as backups", ("etcd",))
NEWEST_TIME = Metric("longhaul_backup_newest_timestamp_seconds", "Time of the newest backup", ("etcd",))
NEWEST_SIZE = Metric("longhaul_backup_newest_size_bytes", "Encrypted size of the newest backup", ("etcd",))
NEWEST_DURATION = Metric("longhaul_backup_newest_duration_seconds", "Time that the newest backup took", ("etcd",))
NEWEST_KEYS = Metric("longhaul_backup_newest_keys", "Keys in the newest backup", ("etcd",))


def write(state: BackupState, role: str, folder: Path = FOLDER) -> None:
    """Replace the state and the metrics."""
    _replace(folder / STATE, to_text(state) + "\n")
    _replace(folder / METRICS, metrics(state, role))


def read(folder: Path = FOLDER) -> BackupState | None:
    """Return the state that was written last; None if there is none, or it cannot be read."""
    try:
        return of_text(BackupState, (folder / STATE).read_text())
    except (OSError, ValueError):
        return None


def last_storage_state(folder: Path = FOLDER) -> BackupStorageState:
    """Return the storage's content as of the last successful look."""
    state = read(folder)
    if state is None:
        return BackupStorageState()
    return BackupStorageState(**{part.name: getattr(state, part.name) for part in fields(BackupStorageState)})


def metrics(state: BackupState, role: str) -> str:
    """Return the state as metrics. The metrics contain times, not ages, so that they are right whenever they are
    read."""
    values: dict[Metric, float] = {}
    if state.declared:
        values[FAILED] = float(bool(state.error))
        values[LOOKED] = state.looked
        values[INTERVAL] = state.every_s
        values[REJECTED] = state.rejected
    if state.newest is not None:
        values[NEWEST_TIME] = state.newest.made
        values[NEWEST_SIZE] = state.newest.size
        values[NEWEST_DURATION] = state.took_s
        values[NEWEST_KEYS] = state.newest.keys
    return "".join(metric.text({(role,): value}) for metric, value in values.items())


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o644)
    os.replace(new, path)
