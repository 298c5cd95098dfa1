"""A site of racks."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Literal

from pydantic import Field

from clouds.base.section import HostKey, Name, Section
from clouds.base.site import SiteBase


class Gateway(Section):
    """A machine that ends the site's IPsec tunnels."""

    name: Name = Field(examples=["gw-0"])
    """Host name's last part; the machine is `<env>-<name>`."""
    public_address: IPv4Address = Field(examples=["198.51.100.20"])
    """The static address that the other sites' gateways reach."""
    host_key: HostKey | None = None
    """The machine's SSH host key, pinned; left out until the rack is prepared."""


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
