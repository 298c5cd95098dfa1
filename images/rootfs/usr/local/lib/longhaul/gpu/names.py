"""File with the id of the machine's present boot, which the node's reports contain."""

from __future__ import annotations

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Path of the file. The kubelet reads its Node's ``bootID`` from the same file (github.com/google/cadvisor,
``utils/sysinfo``)."""
