"""The machine types that Longhaul knows, with what the address and capacity plans need of them.

Sources: Azure, learn.microsoft.com "Sizes for virtual machines" (Lsv3, Dsv5, Ddsv5, NC A100 v4, ND A100 v4, ND H100 v5
series pages); AWS, docs.aws.amazon.com "Amazon EC2 instance types" (m7i, m6id, i4i, g5, p4d, p5 pages). An environment
can declare further types under ``machine_types``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.model.base import Section

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
    local_ssd_gb: int = Field(default=0, ge=0)
    """Local NVMe storage in GB (10⁹ bytes), all disks together; 0 when the type has none."""


def _azure(vcpus: int, memory_gib: int, *, gpus: int = 0, ssd: int = 0) -> MachineType:
    return MachineType(cloud="azure", vcpus=vcpus, memory_gib=memory_gib, gpus=gpus, local_ssd_gb=ssd)


def _aws(vcpus: int, memory_gib: int, *, gpus: int = 0, ssd: int = 0) -> MachineType:
    return MachineType(cloud="aws", vcpus=vcpus, memory_gib=memory_gib, gpus=gpus, local_ssd_gb=ssd)


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
        "Standard_NC24ads_A100_v4": _azure(24, 220, gpus=1, ssd=960),
        "Standard_ND96amsr_A100_v4": _azure(96, 1900, gpus=8, ssd=7680),
        "Standard_ND96isr_H100_v5": _azure(96, 1900, gpus=8, ssd=28000),
        "m7i.xlarge": _aws(4, 16),
        "m7i.4xlarge": _aws(16, 64),
        "m6id.xlarge": _aws(4, 16, ssd=237),
        "i4i.2xlarge": _aws(8, 64, ssd=1875),
        "i4i.4xlarge": _aws(16, 128, ssd=3750),
        "g5.xlarge": _aws(4, 16, gpus=1, ssd=250),
        "g5.12xlarge": _aws(48, 192, gpus=4, ssd=3800),
        "p4d.24xlarge": _aws(96, 1152, gpus=8, ssd=8000),
        "p5.48xlarge": _aws(192, 2048, gpus=8, ssd=30720),
    }
