"""On-premises, with one module for each aspect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from clouds.base.aspects import Aspects
from clouds.onprem.site import OnpremSite

if TYPE_CHECKING:
    from clouds.base.picture import Picture


class Onprem(Aspects):
    """The cloud of every :class:`OnpremSite`."""

    kind = "onprem"
    title = "on-prem"
    site_type = OnpremSite
    holds_control_plane = False
    provider = ""
    rents = False
    control = None
    quarantine = None
    administrator_keys: Mapping[str, int] = MappingProxyType({})
    user_data_limit = None
    """Ansible brings a host what it needs."""

    if TYPE_CHECKING:
        from clouds.onprem import (
            checks,
            doctor,
            fleet,
            groups,
            images,
            immutable,
            listing,
            machine_access,
            machine_identity,
            machine_types,
            made,
            names,
            node_controller,
            policy,
            prices,
            promises,
            resources,
            tags,
            tunnels,
        )

    @property
    def picture(self) -> Picture:
        """Appearance of its sites on the map."""
        from clouds.onprem.picture import PICTURE

        return PICTURE
