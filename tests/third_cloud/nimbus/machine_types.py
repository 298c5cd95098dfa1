"""Machine types of Nimbus that need no declaration."""

from __future__ import annotations

from clouds.base.machine_type import H100_BOARD, MachineType
from clouds.base.pool import Pool
from clouds.base.rdma import Rdma


def known() -> dict[str, MachineType]:
    """Return every built-in type by Nimbus's name for it."""
    return {
        "lift-8": MachineType(cloud="nimbus", vcpus=8, memory_gib=64, local_ssd_gb=1000),
        "storm-96": MachineType(
            cloud="nimbus",
            vcpus=96,
            memory_gib=1024,
            gpus=8,
            gpu_model="H100",
            gpu_nvlinks=H100_BOARD,
            local_ssd_gb=8000,
        ),
    }


def rdma(_pool: Pool, /) -> Rdma | None:
    """Return ``None``: Nimbus has none."""
    return None
