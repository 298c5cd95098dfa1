"""State of the backups as this member knows it: for ``longhaul-node status``, and as metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, kw_only=True)
class Newest:
    """The newest backup of this member's etcd cluster."""

    name: str
    """Class and name."""
    made: float
    """Time, seconds since the epoch."""
    size: int
    """Number of encrypted bytes."""
    revision: int
    keys: int


@dataclass(frozen=True, kw_only=True)
class StorageLook:
    """Content of the storage, as this member counts it."""

    newest: Newest | None = None
    took_s: float = 0.0
    """Time that the newest backup took, seconds."""
    rejected: int = 0
    """Number of blobs that do not count as backups (:mod:`contract.documents.backups`)."""
    rejected_why: str = ""
    """One of these blobs, and the reason."""
    oldest: Mapping[str, float] = field(default_factory=dict)
    """Time of the oldest blob of each class, whether it counts or not; seconds since the epoch."""


@dataclass(frozen=True, kw_only=True)
class BackupState(StorageLook):
    """Result of the last look. When a later look fails, the earlier content is kept."""

    declared: bool
    """True when the environment has backups."""
    looked: float
    """Time of the look, seconds since the epoch."""
    every_s: float = 0.0
    error: str = ""
    """Reason why the last look or backup failed; empty when it did not."""


def write(state: BackupState, role: str, folder: Path = FOLDER) -> None:
    """Replace the state and the metrics."""
    _replace(folder / STATE, json.dumps(asdict(state)) + "\n")
    _replace(folder / METRICS, metrics(state, role))


def read(folder: Path = FOLDER) -> dict[str, Any] | None:
    """Return the state as it was written; None when there is none."""
    try:
        document = json.loads((folder / STATE).read_text())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def last_seen(folder: Path = FOLDER) -> StorageLook:
    """Return the storage's content as of the last successful look."""
    document = read(folder) or {}
    try:
        newest = Newest(**document["newest"]) if document.get("newest") else None
        return StorageLook(
            **{part.name: document[part.name] for part in fields(StorageLook) if part.name in document}
            | {"newest": newest}
        )
    except TypeError:
        return StorageLook()


def metrics(state: BackupState, role: str) -> str:
    """Return the state as metrics. Times are exported, not ages, so that they are right whenever they are read."""
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
