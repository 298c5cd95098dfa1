"""Disks of machines in AWS."""

from __future__ import annotations

from clouds.base.machine_types import MachineProperties

ROOT_DEVICE = "/dev/sda1"
"""Root device of the node image, as on Ubuntu's own images."""

SYSTEM_DISK_GIB = 200
"""Size in GiB of the system disk of a pool that declares none (``system_disk_gib``), if the type has no local SSD:
system, logs, pods' ``emptyDir`` volumes and images."""

BESIDE_SSD_GIB = 100
"""The same if the type has local SSD, on which containerd keeps images and containers
(``images/rootfs/etc/systemd/system/containerd.service``)."""


def default_disk_gib(machine: MachineProperties) -> int:
    """Return the size in GiB of the system disk of a pool that declares none."""
    return BESIDE_SSD_GIB if machine.local_ssd_gb else SYSTEM_DISK_GIB
