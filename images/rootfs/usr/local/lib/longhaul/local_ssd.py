#!/usr/bin/env python3
"""Mount the machine's local NVMe disk at /var/lib/longhaul/ssd, after making a file system on it when it is blank.

What is already mounted there is used as it is. A disk with data that is not Longhaul's is never written to. With
``--if-any`` a machine without a local disk is not a failure: workers use a disk where there is one, members of an etcd
cluster need one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/var/lib/longhaul/ssd")
LABEL = "longhaul-ssd"
"""Label of the file system: at most 16 bytes (ext4)."""

LOCAL_MODELS = ("Microsoft NVMe Direct Disk", "Amazon EC2 NVMe Instance Storage")
"""Model names of the clouds' local disks; network disks have other models (learn.microsoft.com, "SCSI to NVMe";
docs.aws.amazon.com, "Instance store volumes")."""

BLANK_BYTES = 1 << 20


class DiskError(Exception):
    """Raised when there is no usable disk."""


class NoDiskError(DiskError):
    """Raised when the machine has no local disk."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A local disk and what is on it."""

    device: str
    label: str = ""
    signature: str = ""
    """Kind of data that was recognised; empty for none."""
    zeroed: bool = True
    """True when its first MiB is all zeros."""

    @property
    def blank(self) -> bool:
        """Return whether nothing is lost by writing to the disk."""
        return not self.signature and self.zeroed


def choose(disks: list[Disk]) -> tuple[Disk, bool]:
    """Return the disk to use, and whether to make a file system on it; ``DiskError`` when none is Longhaul's or
    blank."""
    for disk in disks:
        if disk.label == LABEL:
            return disk, False
    for disk in disks:
        if disk.blank:
            return disk, True
    if not disks:
        raise NoDiskError(
            f"this machine has no local NVMe disk ({' or '.join(LOCAL_MODELS)}): its machine type has no local SSD"
        )
    found = ", ".join(f"{disk.device} ({disk.signature or 'data of an unknown kind'})" for disk in disks)
    raise DiskError(
        f"every local disk holds data that is not Longhaul's: {found}. Nothing was written; wipe one or replace the "
        "machine"
    )


def local_disks(sys_block: Path = Path("/sys/block")) -> list[Disk]:
    """Return the machine's local disks, sorted by device name."""
    return [
        _inspect(f"/dev/{entry.name}")
        for entry in sorted(sys_block.glob("nvme*n*"))
        if (entry / "device" / "model").exists()
        and (entry / "device" / "model").read_text().strip().startswith(LOCAL_MODELS)
    ]


def _inspect(device: str) -> Disk:
    # blkid's exit code 2: nothing recognised (blkid(8)).
    done = subprocess.run(
        ["blkid", "--probe", "--output", "export", device], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 2):
        raise DiskError(f"{device} cannot be examined: {done.stderr.strip() or f'blkid exit code {done.returncode}'}")
    facts = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    with open(device, "rb") as file:
        zeroed = not file.read(BLANK_BYTES).strip(b"\0")
    return Disk(
        device=device,
        label=facts.get("LABEL", ""),
        signature=facts.get("TYPE") or facts.get("PTTYPE") or ("an unnamed signature" if done.returncode == 0 else ""),
        zeroed=zeroed,
    )


def main() -> int:
    """Return 0 when something is mounted at the mount point, or need not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--if-any", action="store_true", help="a machine without a local disk is no failure")
    if_any = parser.parse_args().if_any
    if MOUNT.is_mount():
        print(f"{MOUNT} is mounted already")
        return 0
    try:
        disk, blank = choose(local_disks())
    except DiskError as error:
        print(error, file=sys.stderr)
        return 0 if if_any and isinstance(error, NoDiskError) else 1
    if blank:
        # No -F: with it, mkfs would overwrite data that it recognises itself.
        subprocess.run(["mkfs.ext4", "-q", "-L", LABEL, disk.device], check=True, stdin=subprocess.DEVNULL)
        print(f"made a file system on {disk.device}")
    MOUNT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-o", "noatime", disk.device, str(MOUNT)], check=True)
    print(f"mounted {disk.device} at {MOUNT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
