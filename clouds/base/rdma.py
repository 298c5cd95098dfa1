"""RDMA networks: adapters by which programs on several machines, GPUs among them, reach each other's memory."""

from __future__ import annotations

from enum import StrEnum


class Rdma(StrEnum):
    """A kind of RDMA network."""

    EFA = "efa"
    """Elastic Fabric Adapters of AWS."""
    INFINIBAND = "infiniband"
    ROCE = "roce"
    """RDMA over Converged Ethernet."""
