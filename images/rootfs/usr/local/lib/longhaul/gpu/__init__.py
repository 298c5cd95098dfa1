"""Whether this machine's NVIDIA GPUs are there and well: docs/gpus.md."""
