"""A machine type that a cloud offers, with what the address and capacity plans need of it."""

from __future__ import annotations

from pydantic import Field

from clouds.base.section import GpuModel, GpuNvlinks, Section


class MachineType(Section):
    """What one machine of a type has."""

    cloud: str
    """The cloud that offers the type, by its kind."""
    vcpus: int = Field(ge=1)
    """Virtual cores."""
    memory_gib: int = Field(ge=1)
    """Memory in GiB."""
    gpus: int = Field(default=0, ge=0)
    """Whole GPUs."""
    gpu_model: GpuModel = ""
    """Words of the name that every GPU has to have, such as `H100` or `A100 80GB`; left out, any."""
    gpu_nvlinks: GpuNvlinks | None = None
    """NVLinks of each GPU that have to be active; 0: they are not looked at; left out: all that a GPU knows, once one
    of the machine is active."""
    local_ssd_gb: int = Field(default=0, ge=0)
    """Local NVMe storage in GB (10⁹ bytes), all disks together; 0 when the type has none."""


def built_in(
    cloud: str, vcpus: int, memory_gib: int, *, ssd: int = 0, gpus: tuple[int, str, int | None] | None = None
) -> MachineType:
    """A type that needs no declaration. ``ssd``: GB of all its disks; ``gpus``: how many, their model, and the NVLinks
    of each."""
    count, model, nvlinks = gpus or (0, "", None)
    return MachineType(
        cloud=cloud,
        vcpus=vcpus,
        memory_gib=memory_gib,
        gpus=count,
        gpu_model=model,
        gpu_nvlinks=nvlinks,
        local_ssd_gb=ssd,
    )


A100_BOARD, H100_BOARD = 12, 18
"""NVLinks of each GPU on NVIDIA's boards with NVSwitches (docs/gpus.md)."""

ALONE = 0
"""NVLinks that are looked at of one GPU of a machine that has more: its links lead to GPUs of others."""
