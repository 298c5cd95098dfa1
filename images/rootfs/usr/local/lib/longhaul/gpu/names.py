"""Names for a node's GPUs in the cluster, shared by the node's own program and the node controller."""

from __future__ import annotations

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""File from which the kubelet, too, reads its Node's ``bootID`` (github.com/google/cadvisor, ``utils/sysinfo``)."""
