"""A site in Nimbus."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.gateway import Gateway
from clouds.base.section import Section
from clouds.base.site import ZONES, SiteBase


class NimbusExisting(Section):
    """Parts of a site in Nimbus that are there already."""

    fabric: str | None = Field(default=None, pattern=r"^fabric-[0-9]+$", examples=["fabric-17"])
    """Id of the fabric that holds the site's machines."""


class NimbusSite(SiteBase):
    """A region of Nimbus: one fabric."""

    kind: Literal["nimbus"]
    """Nimbus."""
    region: str = Field(pattern=r"^[a-z]+-[0-9]$", examples=["north-1"])
    """Nimbus's name of the region."""
    project: str = Field(pattern=r"^[a-z][a-z0-9]*$", examples=["physics"])
    """Project that Nimbus bills."""
    zones: tuple[Literal["low", "mid", "high"], ...] = Field(default=("low", "high"), min_length=1, max_length=ZONES)
    """Layers that hold the machines."""
    image: str = Field(pattern=r"^image-[0-9]+$", examples=["image-4"])
    """Id of the node image in this region."""
    existing: NimbusExisting = Field(default_factory=NimbusExisting)
    """Existing parts of the site, which are not made."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """Return no gateway: the operator runs none here."""
        return ()
