"""Machine types that clouds offer."""

from __future__ import annotations

from clouds.base.machine_type import MachineProperties
from clouds.base.pool import Pool
from clouds.base.rdma import Rdma


class MachineTypes:
    """Machine types that a cloud offers. None is known by default."""

    def known(self) -> dict[str, MachineProperties]:
        """Return the built-in machine types by the cloud's own names. They need no declaration in the file."""
        return {}

    def rdma(self, pool: Pool) -> Rdma | None:
        """Return the RDMA network that connects a pool's machines, if any."""
        return None
