"""What there is to know of racks, aspect by aspect."""

from __future__ import annotations

from clouds.base.cloud import MachineTypes, Made, Policy
from clouds.onprem.site import OnpremSite


class Onprem:
    """The cloud of every :class:`OnpremSite`."""

    kind = "onprem"
    title = "on-prem"
    site_type = OnpremSite
    rents = False

    @property
    def machine_types(self) -> MachineTypes:
        """Machine types that need no declaration."""
        from clouds.onprem import machine_types

        return machine_types

    @property
    def made(self) -> Made[OnpremSite]:
        """Parts that are made, and parts that are there already."""
        from clouds.onprem import made

        return made

    @property
    def policy(self) -> Policy[OnpremSite]:
        """Looks for what breaks a rule."""
        from clouds.onprem import policy

        return policy
