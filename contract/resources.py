"""Names of resources that pods request."""

from __future__ import annotations

GPU_RESOURCE = "nvidia.com/gpu"
"""Resource that NVIDIA's device plugin registers for whole GPUs, and key of the taint of nodes with GPUs."""
