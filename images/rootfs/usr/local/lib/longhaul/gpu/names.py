"""Names for a node's GPUs in the cluster, shared by the node's own program and the node controller."""

from __future__ import annotations

PRESENT = "nvidia.com/gpu.present"
"""Label of a node that must have GPUs, ``true`` from its registration on (components/model/nodes/nodes.py)."""

TAINT = "longhaul.dev/preflight"
"""Key of the taint with which such a node registers, and which the node controller removes."""
TAINT_VALUE = "pending"
TAINT_EFFECT = "NoSchedule"
"""Never NoExecute: what runs on the node continues."""

HEALTHY = "longhaul.dev/GpuHealthy"
"""Condition: the GPUs passed their test, and every look since found them healthy."""
MISMATCH = "longhaul.dev/DriverToolkitMismatch"
"""Condition: kernel module, libraries and what containers are given are of different versions."""

BOOT = "longhaul.dev/gpu-preflight-boot"
"""Annotation with the kernel's boot id of the boot in which the conditions were written. After another boot they mean
nothing: GPUs that were healthy may not have come back."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""File from which the kubelet, too, reads its Node's ``bootID`` (github.com/google/cadvisor, ``utils/sysinfo``)."""
