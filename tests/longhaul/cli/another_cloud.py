"""``longhaul`` with one more cloud, which has little but the defaults."""

from __future__ import annotations

import sys
from typing import Literal

from clouds import registry
from clouds.base.cloud import Cloud, Picture
from clouds.base.site import Gateway, SiteBase


class NimbusSite(SiteBase):
    """A region of Nimbus."""

    kind: Literal["nimbus"]
    """Nimbus."""
    region: str
    """Name of the region."""
    image: str
    """Id of the node image."""
    zones: tuple[str, ...] = ("low", "high")
    """Layers that hold the machines."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """Return no gateway."""
        return ()


class Nimbus(Cloud[NimbusSite]):
    """The cloud of every :class:`NimbusSite`."""

    kind = "nimbus"
    title = "Nimbus"
    site_type = NimbusSite
    picture = Picture(title="Nimbus", light="#7a3e9d", dark="#c79be0", zones_have_ranges=False)
    user_data_limit = 32768


if __name__ == "__main__":
    registry.CLOUDS = (*registry.CLOUDS, Nimbus)
    # What reads the clouds when it is imported comes after.
    from longhaul.cli import main

    sys.exit(main(sys.argv[1:]))
