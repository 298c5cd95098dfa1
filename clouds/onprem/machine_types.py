"""Machine types: none, because the hosts file describes each host."""

from __future__ import annotations

from clouds.base.machine_type import MachineType
from clouds.base.pool import Pool
from clouds.base.rdma import Rdma


def known() -> dict[str, MachineType]:
    """Return an empty mapping."""
    return {}


def rdma(_pool: Pool, /) -> Rdma | None:
    """Return ``None``: the hosts file says what each host has."""
    return None
