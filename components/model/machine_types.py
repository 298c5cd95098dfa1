"""The machine types that Longhaul knows, with what the address and capacity plans need of them.

Sources: Azure, learn.microsoft.com "Sizes for virtual machines" (Lsv3, Dsv5, Ddsv5, NC A100 v4, ND A100 v4, ND H100 v5
series pages); AWS, docs.aws.amazon.com "Amazon EC2 instance types" (m7i, m6id, i4i, g5, p4d, p5 pages). The same pages
name the GPUs. Numbers of NVLinks: of the boards with NVSwitches, docs/gpus.md. An environment can declare further types
under ``machine_types``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from components.model.base import GpuModel, GpuNvlinks, Section

Cloud = Literal["azure", "aws"]


class MachineType(Section):
    """What one machine of a type has."""

    cloud: Cloud
    """The cloud that offers the type."""
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


@dataclass(frozen=True)
class _Gpus:
    """Those of a type."""

    count: int = 0
    model: str = ""
    nvlinks: int | None = None


def _azure(vcpus: int, memory_gib: int, *, ssd: int = 0, gpus: _Gpus | None = None) -> MachineType:
    return _type("azure", vcpus, memory_gib, ssd, gpus or _Gpus())


def _aws(vcpus: int, memory_gib: int, *, ssd: int = 0, gpus: _Gpus | None = None) -> MachineType:
    return _type("aws", vcpus, memory_gib, ssd, gpus or _Gpus())


def _type(cloud: Cloud, vcpus: int, memory_gib: int, ssd: int, gpus: _Gpus) -> MachineType:
    return MachineType(
        cloud=cloud,
        vcpus=vcpus,
        memory_gib=memory_gib,
        gpus=gpus.count,
        gpu_model=gpus.model,
        gpu_nvlinks=gpus.nvlinks,
        local_ssd_gb=ssd,
    )


_A100_BOARD, _H100_BOARD = 12, 18
"""NVLinks of each GPU on NVIDIA's boards with NVSwitches."""
_ALONE = 0
"""One GPU of a machine that has more: its links lead to GPUs of others."""


def known_machine_types() -> dict[str, MachineType]:
    """Every built-in type by the name its cloud gives it."""
    return {
        "Standard_D4s_v5": _azure(4, 16),
        "Standard_D8s_v5": _azure(8, 32),
        "Standard_D16s_v5": _azure(16, 64),
        "Standard_D32s_v5": _azure(32, 128),
        "Standard_E32s_v5": _azure(32, 256),
        "Standard_L8s_v3": _azure(8, 64, ssd=1920),
        "Standard_L16s_v3": _azure(16, 128, ssd=3840),
        "Standard_L32s_v3": _azure(32, 256, ssd=7680),
        "Standard_NC24ads_A100_v4": _azure(24, 220, ssd=960, gpus=_Gpus(1, "A100 80GB", _ALONE)),
        "Standard_ND96amsr_A100_v4": _azure(96, 1900, ssd=7680, gpus=_Gpus(8, "A100 80GB", _A100_BOARD)),
        "Standard_ND96isr_H100_v5": _azure(96, 1900, ssd=28000, gpus=_Gpus(8, "H100", _H100_BOARD)),
        "m7i.xlarge": _aws(4, 16),
        "m7i.4xlarge": _aws(16, 64),
        "m6id.xlarge": _aws(4, 16, ssd=237),
        "i4i.2xlarge": _aws(8, 64, ssd=1875),
        "i4i.4xlarge": _aws(16, 128, ssd=3750),
        "g5.xlarge": _aws(4, 16, ssd=250, gpus=_Gpus(1, "A10G")),
        "g5.12xlarge": _aws(48, 192, ssd=3800, gpus=_Gpus(4, "A10G")),
        "p4d.24xlarge": _aws(96, 1152, ssd=8000, gpus=_Gpus(8, "A100 40GB", _A100_BOARD)),
        "p5.48xlarge": _aws(192, 2048, ssd=30720, gpus=_Gpus(8, "H100", _H100_BOARD)),
    }
