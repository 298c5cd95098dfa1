"""A site of racks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.gateway import Gateway
from clouds.base.site import SiteBase


class OnpremSite(SiteBase):
    """Racks of your own."""

    kind: Literal["onprem"]
    """Bare metal."""
    gateways: tuple[Gateway, ...] = Field(min_length=1, max_length=2)
    """One gateway, or two that fail over."""

    @property
    def region(self) -> str:
        """None."""
        return ""

    @property
    def image(self) -> str:
        """None: its hosts are prepared where they stand."""
        return ""

    @property
    def zones(self) -> tuple[str, ...]:
        """None."""
        return ()
