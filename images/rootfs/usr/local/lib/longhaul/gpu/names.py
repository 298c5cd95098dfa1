"""What the cluster knows a node's GPUs by: the names that the node's own program and the node controller share."""

from __future__ import annotations

PRESENT = "nvidia.com/gpu.present"
"""Label of a node that GPUs are promised of, ``true`` from its registration on (components/model/nodes.py)."""

TAINT = "longhaul.dev/preflight"
"""Key of the taint that such a node registers with, and that the node controller lifts."""
TAINT_VALUE = "pending"
TAINT_EFFECT = "NoSchedule"
"""Never NoExecute: what runs goes on."""

HEALTHY = "longhaul.dev/GpuHealthy"
"""Condition: whether the GPUs passed their test, and have been well at each look since."""
MISMATCH = "longhaul.dev/DriverToolkitMismatch"
"""Condition: whether kernel module, libraries and what containers are given are of different versions."""

BOOT = "longhaul.dev/gpu-preflight-boot"
"""Annotation: the boot that the conditions were written in, by the kernel's boot id. Of another boot, they say nothing:
GPUs that were well may not have come back."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Where the kubelet, too, has its Node's ``bootID`` from (github.com/google/cadvisor, ``utils/sysinfo``)."""
