"""Mount the machine's local NVMe storage at /var/lib/longhaul/ssd. A blank disk gets a file system first. If
/etc/longhaul/data-disk.json names a network disk, mount the network disk instead.

An existing mount stays as it is. The program never writes to a disk with data that is not Longhaul's. With ``--if-any``
a machine without a local disk is no failure: workers use local disks if there are any, whereas members of an etcd
cluster need one. With ``--stripe`` all blank disks become one array (RAID 0). A member of an etcd cluster uses a single
disk, because its data is small, and the failure of any disk of an array would lose the member.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from contract.documents.etcd_disk import DISK_PATH, lun_of_text
from contract.paths import SSD

MOUNT = Path(SSD)
LABEL = "longhaul-ssd"
"""Label of the file system: at most 16 bytes (ext4)."""

LOCAL_MODELS = ("Microsoft NVMe Direct Disk", "Amazon EC2 NVMe Instance Storage")
"""Model names of the clouds' local disks. Network disks have other model names (learn.microsoft.com, "SCSI to NVMe";
docs.aws.amazon.com, "Instance store volumes")."""

ARRAY = "longhaul-ssds"
"""Name of the array in its disks' superblocks, in the form ``name`` or ``host:name`` (md(4))."""

NAMED = (f"--name={ARRAY}", "--homehost=any")
"""Options that name the array independently of the machine's host name, because the array may be made before the
machine has its name (mdadm(8), ``--homehost``)."""

STARTED = frozenset(("active", "active-idle", "clean", "readonly", "read-auto", "write-pending"))
"""States of an array that can be read (kernel, Documentation/admin-guide/md.rst, ``array_state``)."""

SETTLE_S = 60
"""Longest time in seconds in which udev may assemble an array by itself."""

NETWORK_DISK = Path(DISK_PATH)
"""File, from the learner's user data, with the LUN at which the learner's data disk is attached."""

BY_LUN = ("/dev/disk/azure/data/by-lun/{lun}", "/dev/disk/azure/scsi1/lun{lun}")
"""Links to the disk of a LUN. azure-vm-utils makes the first link, for SCSI and NVMe, and Azure's agent makes the
second (Azure's azure-vm-utils, "Disk Identification"; learn.microsoft.com, "Troubleshoot Linux VM device name
changes")."""

BLANK_BYTES = 1 << 20


class DiskError(Exception):
    """Raised if there is no usable disk."""


class NoDiskError(DiskError):
    """Raised if the machine has no local disk."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A local disk and its content."""

    device: str
    label: str = ""
    signature: str = ""
    """Kind of data on the disk; empty if no kind is recognised."""
    zeroed: bool = True
    """True if the disk's first MiB is all zeros."""

    @property
    def blank(self) -> bool:
        """Return whether the disk contains no data."""
        return not self.signature and self.zeroed

    @property
    def in_array(self) -> bool:
        """Return whether the disk belongs to Longhaul's array."""
        return self.signature == "linux_raid_member" and self.label.rpartition(":")[2] == ARRAY


def choose(disks: list[Disk], *, stripe: bool = False) -> tuple[list[Disk], bool]:
    """Return the disks to use, and whether they are blank. Raise ``DiskError`` if no disk is Longhaul's or blank.

    Longhaul's existing file system or array comes first. Otherwise ``stripe`` decides whether all blank disks are used,
    or only the first.
    """
    for disk in disks:
        if disk.label == LABEL:
            return [disk], False
    if members := [disk for disk in disks if disk.in_array]:
        return members, False
    if blank := [disk for disk in disks if disk.blank]:
        return blank if stripe else blank[:1], True
    if not disks:
        raise NoDiskError(
            f"this machine has no local NVMe disk ({' or '.join(LOCAL_MODELS)}): its machine type has no local SSD"
        )
    contents = ", ".join(f"{disk.device} ({disk.signature or 'data of an unknown kind'})" for disk in disks)
    raise DiskError(
        f"every local disk holds data that is not Longhaul's: {contents}. Nothing was written; wipe one or replace the "
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


def network_disk(settings: Path = NETWORK_DISK) -> list[Disk]:
    """Return the network disk that this machine's file names. Raise ``DiskError`` if the disk is not attached."""
    lun = lun_of_text(settings.read_text())
    names = [Path(name.format(lun=lun)) for name in BY_LUN]
    link = next((name for name in names if name.exists()), None)
    if link is None:
        raise DiskError(
            f"no disk is attached at LUN {lun} ({' or '.join(map(str, names))}): the machine was made without its "
            "disk, or its image has neither azure-vm-utils nor Azure's agent"
        )
    return [_inspect(str(link.resolve()))]


def array_of(disks: list[Disk], *, blank: bool, sys_block: Path = Path("/sys/block")) -> str:
    """Return the device of the disks' array. Make an array from blank disks. Start an existing array, unless udev has
    started it.

    Raise ``DiskError`` if the array cannot be made or started, or if a disk of it is missing.
    """
    devices = [disk.device for disk in disks]
    if blank:
        count = f"--raid-devices={len(devices)}"
        _mdadm("--create", f"/dev/md/{ARRAY}", "--run", "--level=0", count, *NAMED, *devices)
    elif _holder(devices[0], sys_block) is None:
        _mdadm("--assemble", f"/dev/md/{ARRAY}", *NAMED, *devices)
    name = _holder(devices[0], sys_block)
    state = (sys_block / name / "md" / "array_state").read_text().strip() if name else "missing"
    if state not in STARTED:
        raise DiskError(
            f"the array {ARRAY} of {', '.join(devices)} is {state}: a disk of it is gone, and what was on it is lost. "
            "Nothing was written; replace the machine"
        )
    return f"/dev/{name}"


def _holder(device: str, sys_block: Path) -> str | None:
    """Return the name of the array that a disk belongs to; None if there is none."""
    holders = sorted((sys_block / Path(device).name / "holders").glob("md*"))
    return holders[0].name if holders else None


def _mdadm(*arguments: str) -> None:
    done = subprocess.run(["mdadm", *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise DiskError(f"mdadm {' '.join(arguments)}: {done.stderr.strip() or f'exit code {done.returncode}'}")


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


def prepare(disks: list[Disk], *, blank: bool) -> str:
    """Make a missing array and a missing file system. Return the device to mount."""
    device = disks[0].device
    if len(disks) > 1 or disks[0].in_array:
        device = array_of(disks, blank=blank)
        # An array without a signature was made, but got no file system before the machine stopped. Nothing but its own
        # creation can have left it so.
        blank = blank or not _inspect(device).signature
    if blank:
        # No -F: with it, mkfs would overwrite data that it recognises itself.
        subprocess.run(["mkfs.ext4", "-q", "-L", LABEL, device], check=True, stdin=subprocess.DEVNULL)
        print(f"made a file system on {device} ({', '.join(disk.device for disk in disks)})")
    return device


def main() -> int:
    """Run the program. Return 0 if a disk is mounted at the mount point, or if none is needed, otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--if-any", action="store_true", help="a machine without a local disk is no failure")
    parser.add_argument("--stripe", action="store_true", help="use all blank disks as one")
    arguments = parser.parse_args()
    if MOUNT.is_mount():
        print(f"{MOUNT} is mounted already")
        return 0
    networked = NETWORK_DISK.exists()
    if arguments.stripe or networked:
        subprocess.run(["udevadm", "settle", f"--timeout={SETTLE_S}"], check=False)
    try:
        disks, blank = choose(network_disk() if networked else local_disks(), stripe=arguments.stripe)
        device = prepare(disks, blank=blank)
    except DiskError as error:
        print(error, file=sys.stderr)
        return 0 if arguments.if_any and isinstance(error, NoDiskError) else 1
    MOUNT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-o", "noatime", device, str(MOUNT)], check=True)
    if networked:
        # It may have been made larger since; otherwise nothing happens.
        subprocess.run(["resize2fs", device], check=True, stdin=subprocess.DEVNULL)
    print(f"mounted {device} at {MOUNT}")
    return 0
