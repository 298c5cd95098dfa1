"""An on-premises site."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.site import Gateway, SiteBase


class OnpremSite(SiteBase):
    """An on-premises site: bare-metal hosts in your own racks."""

    kind: Annotated[Literal["onprem"], Replaces.STATE]
    """Always `onprem`."""
    gateways: Annotated[tuple[Gateway, ...], Replaces.STATE] = Field(min_length=1, max_length=2)
    """Gateways of the site: one, or two, each of which takes over when the other fails."""

    @property
    def region(self) -> str:
        """Return an empty text: there are no regions."""
        return ""

    @property
    def image(self) -> str:
        """Return an empty text: hosts are prepared in place."""
        return ""

    @property
    def zones(self) -> tuple[str, ...]:
        """Return nothing: there are no zones."""
        return ()
