"""Gateways that are the operator's own machines."""

from __future__ import annotations

from ipaddress import IPv4Address

from pydantic import Field

from clouds.base.section import HostKey, Name, Section


class Gateway(Section):
    """A machine that ends the site's IPsec tunnels."""

    name: Name = Field(examples=["gw-0"])
    """Host name's last part; the machine is `<env>-<name>`."""
    public_address: IPv4Address = Field(examples=["198.51.100.20"])
    """The static address that the other sites' gateways reach."""
    host_key: HostKey | None = None
    """The machine's SSH host key, pinned; left out until the rack is prepared."""
