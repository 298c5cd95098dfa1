"""Checks that this machine's NVIDIA GPUs are present and healthy: docs/gpus.md."""
