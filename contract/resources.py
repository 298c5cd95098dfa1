"""Names of resources that pods request."""

from __future__ import annotations

GPU_RESOURCE = "nvidia.com/gpu"
"""Resource that NVIDIA's device plugin registers for whole GPUs. Taints of nodes with GPUs have the same key."""
