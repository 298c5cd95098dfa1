"""Data disk of an etcd member: the limits of its syncs, and where it is attached."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

LIMITS_PATH = "/etc/longhaul/disk-gate.json"
"""Limits that the environment declares; the file is not there when it declares none."""
DISK_PATH = "/etc/longhaul/data-disk.json"
"""File that says where the network disk is; it is not there on a machine whose disks are local."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Longest times of a sync, milliseconds. The defaults are for production.

    etcd asks for a 99th percentile below 10 ms (etcd.io, "FAQ"), Red Hat for 2 ms where the load is high (OpenShift,
    "Recommended etcd practices").
    """

    median_ms: float = 0.3
    p99_ms: float = 2.0

    def to_text(self) -> str:
        """Return the file's content."""
        return json.dumps(asdict(self), indent=1) + "\n"


def limits_of_text(text: str) -> Limits:
    """Read the file's content; ``TypeError`` or ``ValueError`` when it is not one."""
    return Limits(**json.loads(text))


def lun_text(lun: int) -> str:
    """Return the content of the disk's file: the logical unit number at which it is attached."""
    return json.dumps({"lun": lun}, indent=1) + "\n"


def lun_of_text(text: str) -> int:
    """Read the content of the disk's file; ``KeyError``, ``TypeError`` or ``ValueError`` when it is not one."""
    return int(json.loads(text)["lun"])
