"""Everything that the program knows about Nimbus, aspect by aspect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from clouds.base.aspects import Aspects
from nimbus.site import NimbusSite

if TYPE_CHECKING:
    from clouds.base.cloud import Cloud
    from clouds.base.picture import Picture


class Nimbus(Aspects):
    """The cloud of every :class:`NimbusSite`. No control plane stands there, so none can be asked (``control``); what
    is made there are dynamic resources, which need no plugin (``provider``)."""

    kind = "nimbus"
    title = "Nimbus"
    site_type = NimbusSite
    holds_control_plane = False
    provider = ""
    rents = True
    control = None
    quarantine = None
    administrator_keys: Mapping[str, int] = MappingProxyType({})
    user_data_limit = 32768

    if TYPE_CHECKING:
        from nimbus import (
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
        """Return how its sites are drawn."""
        from nimbus.picture import PICTURE

        return PICTURE


if TYPE_CHECKING:
    WHOLE: Cloud[NimbusSite] = Nimbus()
    """Checked by mypy, which reports a missing method."""
