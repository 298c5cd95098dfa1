"""Machine types of AWS that need no declaration.

Source: docs.aws.amazon.com, "Amazon EC2 instance types" (m7i, m6id, i4i, g5, p4d, p5 pages), which name the GPUs too.
Cards with an Elastic Fabric Adapter (``EfaInfo.MaximumEfaInterfaces``), their bandwidth (``NetworkPerformance``), and
all data of p4de, p5e, p5en, p6-b200 and p6-b300 are from EC2's ``DescribeInstanceTypes``, by the copy in moto 5.2.5.
"""

from __future__ import annotations

import re
from functools import partial

from clouds.base.machine_types import (
    A100_BOARD,
    B200_BOARD,
    H100_BOARD,
    MachineProperties,
    MachineTypes,
    Rdma,
    built_in,
)
from clouds.base.pool_section import Pool

FOREIGN = {
    "g4ad": "GPUs of AMD's",
    r"trn\d\w*": "AWS's Trainium",
    r"inf\d\w*": "AWS's Inferentia",
    "dl1": "Intel's Gaudi",
    "dl2q": "Qualcomm's accelerators",
    r"f\d|vt1": "accelerators of AMD's",
}
"""Accelerators of other makers than NVIDIA, by patterns of families."""

_type = partial(built_in, "aws")


class AwsMachineTypes(MachineTypes):
    """Machine types of AWS."""

    def known(self) -> dict[str, MachineProperties]:
        """Return every built-in type by AWS's own name."""
        return {
            "m7i.xlarge": _type(4, 16),
            "m7i.4xlarge": _type(16, 64),
            "m6id.xlarge": _type(4, 16, ssd=237),
            "i4i.2xlarge": _type(8, 64, ssd=1875),
            "i4i.4xlarge": _type(16, 128, ssd=3750),
            "g5.xlarge": _type(4, 16, ssd=250, gpus=(1, "A10G", None)),
            "g5.12xlarge": _type(48, 192, ssd=3800, gpus=(4, "A10G", None), efa_cards=1),
            "g5.48xlarge": _type(192, 768, ssd=7600, gpus=(8, "A10G", None), efa_cards=1),
            "p4d.24xlarge": _type(96, 1152, ssd=8000, gpus=(8, "A100 40GB", A100_BOARD), efa_cards=4),
            "p5.48xlarge": _type(192, 2048, ssd=30720, gpus=(8, "H100", H100_BOARD), efa_cards=32),
            "p4de.24xlarge": _type(96, 1152, ssd=8000, gpus=(8, "A100 80GB", A100_BOARD), efa_cards=4),
            "p5e.48xlarge": _type(192, 2048, ssd=30400, gpus=(8, "H200", H100_BOARD), efa_cards=32),
            "p5en.48xlarge": _type(192, 2048, ssd=30400, gpus=(8, "H200", H100_BOARD), efa_cards=16),
            "p6-b200.48xlarge": _type(192, 2048, ssd=30400, gpus=(8, "B200", B200_BOARD), efa_cards=8),
            "p6-b300.48xlarge": _type(
                192, 4096, ssd=30400, gpus=(8, "B300", B200_BOARD), efa_cards=16, efa_first_card=1
            ),
        }

    def architecture(self, machine_type: str) -> str:
        """Return ``arm64`` for Graviton: a ``g`` after the generation (docs.aws.amazon.com, "Amazon EC2 instance type
        naming conventions"), ``a1``, and NVIDIA's Grace (``p6e-gb200``)."""
        return "arm64" if re.match(r"a1\.|[a-z]+\d+g|[a-z]+\d+[a-z]*-gb\d", machine_type) else "amd64"

    def accelerator(self, machine_type: str) -> str:
        """Return the accelerators of a type of another maker than NVIDIA (docs.aws.amazon.com, "Amazon EC2 accelerated
        computing instances")."""
        family = machine_type.partition(".")[0]
        return next((words for pattern, words in FOREIGN.items() if re.fullmatch(pattern, family)), "")

    def rdma(self, pool: Pool) -> Rdma | None:
        """Return ``EFA`` for a pool with ``efa``: machines have Elastic Fabric Adapters only on request."""
        return Rdma.EFA if pool.efa else None
