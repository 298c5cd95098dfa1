"""Local disk of a machine: an ext4 image on a loop device, as the machine's image would make it on an NVMe disk.

The device detaches itself when the image is unmounted, by the lab or by the kernel at the end of the lab's mount
namespace. If the host's file system permits, the device bypasses the host's page cache, so that a sync takes its real
time.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.hypervisor.commands import HostCommandError, command
from lab.hypervisor.namespaces import is_mounted

MOST_GIB = 32
"""Largest size of a local disk, GiB. The file is sparse: only written data takes space."""

_MAKE = ["mkfs.ext4", "-q", "-L", "longhaul-ssd", "-m", "0", "-N", "65536", "-J", "size=32"]
# Without these, the kernel writes zeros in the background while etcd measures its first syncs.
_MAKE += ["-E", "lazy_itable_init=0,lazy_journal_init=1,nodiscard"]

_SHUTDOWN = 0x8004587D
"""``EXT4_IOC_SHUTDOWN``, ``_IOR('X', 125, __u32)`` (linux, fs/ext4/ext4.h)."""
_NO_FLUSH = 2
"""``EXT4_GOING_FLAGS_NOLOGFLUSH``: not even the journal is flushed."""

_DETACH_S = 20.0


@dataclass(frozen=True, kw_only=True)
class LocalDisk:
    """The local disk whose file is ``image``, mounted at ``mount`` while its machine runs."""

    image: Path
    mount: Path

    async def attach(self, gib: int) -> Path:
        """Mount the disk, and return the mount point. Make the disk first if there is none. Idempotent."""
        if is_mounted(self.mount):
            return self.mount
        await self._detached()
        if not self.image.exists():
            await self._make(min(gib, MOST_GIB))
        self.mount.mkdir(parents=True, exist_ok=True)
        await command(["mount", "-t", "ext4", "-o", "loop,noatime", str(self.image), str(self.mount)])
        for device in _devices(self.image):
            # If the host's file system cannot do that, it serves the disk through its cache.
            with contextlib.suppress(HostCommandError):
                await command(["losetup", "--direct-io=on", device])
        return self.mount

    async def _make(self, gib: int) -> None:
        new = self.image.with_suffix(".new")
        with new.open("wb") as file:
            file.truncate(gib << 30)
        await command([*_MAKE, str(new)])
        new.rename(self.image)

    async def detach(self) -> None:
        """Unmount the disk. Idempotent."""
        if is_mounted(self.mount):
            await command(["umount", str(self.mount)])

    async def _detached(self) -> None:
        """Wait until no device uses the file: two devices would overwrite each other's writes."""
        deadline = asyncio.get_running_loop().time() + _DETACH_S
        while devices := list(_devices(self.image)):
            if asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(f"{self.image} is still attached as {', '.join(devices)}")
            await asyncio.sleep(0.05)

    def cut_power(self) -> None:
        """Lose all unsynced data: no later write reaches the disk, and its mount answers with errors."""
        if not is_mounted(self.mount):
            return
        folder = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _NO_FLUSH))
        finally:
            os.close(folder)

    def wipe(self) -> None:
        """Delete the content of the disk, which is not mounted; the next start makes a blank one."""
        self.image.unlink(missing_ok=True)


def _devices(image: Path) -> Iterator[str]:
    """Return the loop devices that are attached to a file."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # it was detached meanwhile
            if backing.read_text().strip() == str(image):
                yield f"/dev/{backing.parts[3]}"
