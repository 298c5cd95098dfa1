"""Conditions of Nodes, by their types."""

from __future__ import annotations

GPU_HEALTHY = "longhaul.dev/GpuHealthy"
"""Condition: the GPUs passed their test, and every look since found them healthy."""
DRIVER_MISMATCH = "longhaul.dev/DriverToolkitMismatch"
"""Condition: kernel module, libraries and what containers are given are of different versions."""
INTERRUPTION = "longhaul.dev/Interruption"
"""Condition: the cloud takes the machine back, at a time that its message says."""
