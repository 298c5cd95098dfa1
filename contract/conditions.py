"""Conditions of Nodes and namespaces, by their types."""

from __future__ import annotations

GPU_HEALTHY = "longhaul.dev/GpuHealthy"
"""Condition: the GPUs passed their test, and every check since found them healthy."""
DRIVER_MISMATCH = "longhaul.dev/DriverToolkitMismatch"
"""Condition: kernel module, libraries and the container toolkit's files have different versions."""
INTERRUPTION = "longhaul.dev/Interruption"
"""Condition: the cloud takes the machine back, at the time in the condition's message."""
BEYOND_QUEUE = "longhaul.dev/PodsBeyondQueue"
"""Condition of a team's namespace: pods run there, or are free to be scheduled, that the team's queue has not
admitted."""
