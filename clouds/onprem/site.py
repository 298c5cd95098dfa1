"""An on-premises site."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.site import Gateway, SiteBase


class OnpremSite(SiteBase):
    """An on-premises site: bare-metal hosts in your own racks."""

    kind: Literal["onprem"]
    """Always `onprem`."""
    gateways: tuple[Gateway, ...] = Field(min_length=1, max_length=2)
    """Gateways of the site: one, or two of which one takes over when the other fails."""

    @property
    def region(self) -> str:
        """Empty, because there are no regions."""
        return ""

    @property
    def image(self) -> str:
        """Empty, because hosts are prepared in place."""
        return ""

    @property
    def zones(self) -> tuple[str, ...]:
        """Empty, because there are no zones."""
        return ()
