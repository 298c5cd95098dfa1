"""Machine types of Azure that need no declaration.

The source is learn.microsoft.com, "Sizes for virtual machines", with the pages of the series Dsv5, Esv5, Lsv3, NC A100
v4, NDm A100 v4, ND H100 v5 and ND H200 v5. The pages also name the GPUs, and the InfiniBand of each GPU: 200 Gbit/s
(NDm A100 v4) and 400 Gbit/s (ND H100 v5 and ND H200 v5). ND GB200 v6 and ND GB300 v6 have NVIDIA's Grace processors,
which are arm64, and are refused.
"""

from __future__ import annotations

import re
from functools import partial

from clouds.azure.groups import has_infiniband
from clouds.base.machine_types import (
    A100_BOARD,
    H100_BOARD,
    NVLINKS_UNCHECKED,
    MachineProperties,
    MachineTypes,
    Rdma,
    built_in,
)
from clouds.base.pool_section import Pool

_type = partial(built_in, "azure")


class AzureMachineTypes(MachineTypes):
    """Machine types of Azure."""

    def known(self) -> dict[str, MachineProperties]:
        """Return the built-in machine types by Azure's names."""
        return {
            "Standard_D2s_v5": _type(2, 8),
            "Standard_D4s_v5": _type(4, 16),
            "Standard_D8s_v5": _type(8, 32),
            "Standard_D16s_v5": _type(16, 64),
            "Standard_D32s_v5": _type(32, 128),
            "Standard_E32s_v5": _type(32, 256),
            "Standard_L8s_v3": _type(8, 64, ssd=1920),
            "Standard_L16s_v3": _type(16, 128, ssd=3840),
            "Standard_L32s_v3": _type(32, 256, ssd=7680),
            "Standard_NC24ads_A100_v4": _type(24, 220, ssd=960, gpus=(1, "A100 80GB", NVLINKS_UNCHECKED)),
            "Standard_ND96amsr_A100_v4": _type(96, 1900, ssd=7680, gpus=(8, "A100 80GB", A100_BOARD)),
            "Standard_ND96isr_H100_v5": _type(96, 1900, ssd=28000, gpus=(8, "H100", H100_BOARD)),
            "Standard_ND96isr_H200_v5": _type(96, 1850, ssd=28000, gpus=(8, "H200", H100_BOARD)),
        }

    def architecture(self, machine_type: str) -> str:
        """Return ``arm64`` for a machine type whose name has a ``p`` among its features (learn.microsoft.com, "Azure
        virtual machine sizes naming conventions") or NVIDIA's Grace (``GB200``), and ``amd64`` for every other."""
        return "arm64" if re.match(r"Standard_[A-Z]+\d+(?:-\d+)?[a-z]*(p|.*_GB\d)", machine_type) else "amd64"

    def accelerator(self, machine_type: str) -> str:
        """Return the accelerators of a type of another maker than NVIDIA (learn.microsoft.com, "GPU accelerated
        virtual machine sizes" and "FPGA accelerated virtual machine sizes")."""
        if re.search(r"_(MI\d+X?|V620|V710)(_|$)|^Standard_NV\d+as_v4$", machine_type):
            return "GPUs of AMD's"
        return "FPGAs of AMD's" if re.match(r"Standard_NP\d", machine_type) else ""

    def rdma(self, pool: Pool) -> Rdma | None:
        """Return InfiniBand if the pool's machine type has InfiniBand, otherwise None."""
        return Rdma.INFINIBAND if has_infiniband(pool.machine_type) else None
