"""Data disk of an etcd member: limits for the duration of the disk's syncs, and the place where the disk is
attached."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

LIMITS_PATH = "/etc/longhaul/disk-gate.json"
"""File with the limits that the environment declares; absent if the environment declares none."""
DISK_PATH = "/etc/longhaul/data-disk.json"
"""File with the place of the network disk; absent on a machine whose disks are local."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Longest times of a sync, milliseconds. The defaults are for production.

    etcd requires a 99th percentile below 10 ms (etcd.io, "FAQ"). Red Hat requires 2 ms under high load (OpenShift,
    "Recommended etcd practices").
    """

    median_ms: float = 0.3
    p99_ms: float = 2.0

    def to_text(self) -> str:
        """Return the file's content."""
        return json.dumps(asdict(self), indent=1) + "\n"


def limits_of_text(text: str) -> Limits:
    """Read the content of the limits' file. Raise ``TypeError`` or ``ValueError`` if the content is malformed."""
    return Limits(**json.loads(text))


def lun_text(lun: int) -> str:
    """Return the content of the disk's file: the logical unit number at which the disk is attached."""
    return json.dumps({"lun": lun}, indent=1) + "\n"


def lun_of_text(text: str) -> int:
    """Read the content of the disk's file. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the content is
    malformed."""
    return int(json.loads(text)["lun"])
