"""Machine types that clouds offer, with the data that the address and capacity plans need."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from clouds.base.pool_section import Pool
from clouds.base.section import GpuModel, GpuNvlinks, Section


class Rdma(StrEnum):
    """A kind of RDMA network."""

    EFA = "efa"
    """Elastic Fabric Adapters of AWS."""
    INFINIBAND = "infiniband"
    ROCE = "roce"
    """RDMA over Converged Ethernet."""


class MachineProperties(Section):
    """Properties of one machine of a type."""

    cloud: str
    """Kind of the cloud that offers the type."""
    vcpus: int = Field(ge=1, le=10_000)
    """Number of virtual cores."""
    memory_gib: int = Field(ge=1, le=1_000_000)
    """Memory in GiB."""
    gpus: int = Field(default=0, ge=0, le=100)
    """Number of whole GPUs."""
    gpu_model: GpuModel = ""
    """Words that every GPU's name must contain, such as `H100` or `A100 80GB`. Left out, any GPU is accepted."""
    gpu_nvlinks: GpuNvlinks | None = None
    """Least number of active NVLinks of each GPU; 0 turns this check off. Left out, all NVLinks that a GPU supports
    must be active if any NVLink of the machine is active."""
    local_ssd_gb: int = Field(default=0, ge=0, le=10_000_000)
    """Local NVMe storage in GB (10⁹ bytes), all disks together; 0 when the type has none."""
    efa_cards: int = Field(default=0, ge=0, le=32)
    """Number of network cards that can have an Elastic Fabric Adapter, 0 when the type has none.
    EC2 reports it as `MaximumEfaInterfaces`."""
    efa_first_card: int = Field(default=0, ge=0, le=1)
    """Index of the first network card that can have an adapter: 1 when the first card has none, as of `p6-b300`. EC2
    reports it as `InterfaceTypes` of `NetworkCards`."""


def built_in(
    cloud: str,
    vcpus: int,
    memory_gib: int,
    *,
    ssd: int = 0,
    gpus: tuple[int, str, int | None] | None = None,
    efa_cards: int = 0,
    efa_first_card: int = 0,
) -> MachineProperties:
    """Return a type that needs no declaration. ``ssd`` is the total size of the type's local disks in GB. ``gpus``
    holds the number of GPUs, their model and the number of NVLinks of each GPU."""
    count, model, nvlinks = gpus or (0, "", None)
    return MachineProperties(
        cloud=cloud,
        vcpus=vcpus,
        memory_gib=memory_gib,
        gpus=count,
        gpu_model=model,
        gpu_nvlinks=nvlinks,
        local_ssd_gb=ssd,
        efa_cards=efa_cards,
        efa_first_card=efa_first_card,
    )


A100_BOARD, H100_BOARD, B200_BOARD = 12, 18, 18
"""Number of NVLinks of each GPU on NVIDIA's boards with NVSwitches (docs/gpus.md): H100 and H200 are alike, and so are
B200 and B300."""

NVLINKS_UNCHECKED = 0
"""Value of ``gpu_nvlinks`` for a type with one GPU of a larger board. Its NVLinks lead to GPUs of other machines, so
they are not checked."""


class MachineTypes:
    """Machine types that a cloud offers. None is known by default."""

    def known(self) -> dict[str, MachineProperties]:
        """Return the built-in machine types by the cloud's own names. They need no declaration in the file."""
        return {}

    def architecture(self, machine_type: str) -> str:
        """Return the processor architecture of a machine type by its name in Go, which is also the value of the node's
        label."""
        return "amd64"

    def accelerator(self, machine_type: str) -> str:
        """Return what accelerators a machine type has whose maker is not NVIDIA, in words; empty when it has none."""
        return ""

    def rdma(self, pool: Pool) -> Rdma | None:
        """Return the RDMA network that connects a pool's machines, if any."""
        return None
