"""Virtual machine sizes that the lab's Azure offers.

Sizes of local disks, in GiB as in the lab, are from learn.microsoft.com, "Sizes for virtual machines in Azure": Lsv3
series (https://learn.microsoft.com/azure/virtual-machines/sizes/storage-optimized/lsv3-series: one 1.92 TB NVMe disk
for each 8 cores), Dsv5, Ddsv5 and Esv5 (…/sizes/general-purpose/dsv5-series, ddsv5-series;
…/memory-optimized/esv5-series), NC A100 v4, ND A100 v4 and ND H100 v5 (…/sizes/gpu-accelerated/…). Sizes whose name has
no ``d`` have no local disk at all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MachineSize:
    """Resources of a size."""

    vcpus: int
    memory_gib: int
    local_ssd_gib: int = 0
    """Raw local NVMe in GiB, all disks together."""
    temp_gib: int = 0
    """Temporary disk in GiB; it can hold an ephemeral system disk."""


def known_sizes() -> dict[str, MachineSize]:
    """Return every size by Azure's name."""
    return {
        "Standard_B2s": MachineSize(vcpus=2, memory_gib=4, temp_gib=8),
        "Standard_D2s_v5": MachineSize(vcpus=2, memory_gib=8),
        "Standard_D4s_v5": MachineSize(vcpus=4, memory_gib=16),
        "Standard_D8s_v5": MachineSize(vcpus=8, memory_gib=32),
        "Standard_D16s_v5": MachineSize(vcpus=16, memory_gib=64),
        "Standard_D32s_v5": MachineSize(vcpus=32, memory_gib=128),
        "Standard_D2ds_v5": MachineSize(vcpus=2, memory_gib=8, temp_gib=75),
        "Standard_D4ds_v5": MachineSize(vcpus=4, memory_gib=16, temp_gib=150),
        "Standard_D8ds_v5": MachineSize(vcpus=8, memory_gib=32, temp_gib=300),
        "Standard_D16ds_v5": MachineSize(vcpus=16, memory_gib=64, temp_gib=600),
        "Standard_E8s_v5": MachineSize(vcpus=8, memory_gib=64),
        "Standard_E16s_v5": MachineSize(vcpus=16, memory_gib=128),
        "Standard_E32s_v5": MachineSize(vcpus=32, memory_gib=256),
        "Standard_L8s_v3": MachineSize(vcpus=8, memory_gib=64, local_ssd_gib=1788, temp_gib=80),
        "Standard_L16s_v3": MachineSize(vcpus=16, memory_gib=128, local_ssd_gib=3576, temp_gib=160),
        "Standard_L32s_v3": MachineSize(vcpus=32, memory_gib=256, local_ssd_gib=7152, temp_gib=320),
        "Standard_NC24ads_A100_v4": MachineSize(vcpus=24, memory_gib=220, local_ssd_gib=894, temp_gib=64),
        "Standard_ND96amsr_A100_v4": MachineSize(vcpus=96, memory_gib=1900, local_ssd_gib=7152, temp_gib=6400),
        "Standard_ND96isr_H100_v5": MachineSize(vcpus=96, memory_gib=1900, local_ssd_gib=26000, temp_gib=1000),
    }
