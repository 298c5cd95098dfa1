"""Disks of machines in AWS."""

from __future__ import annotations

ROOT_DEVICE = "/dev/sda1"
"""Root device of the node image, as on Ubuntu's own images."""

SYSTEM_DISK_GIB = 200
"""Size in GiB of the system disk of a pool that declares none (``system_disk_gib``): system, logs, and images where the
type has no local SSD."""
