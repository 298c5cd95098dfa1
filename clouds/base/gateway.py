"""Gateways that are the operator's own machines."""

from __future__ import annotations

from ipaddress import IPv4Address

from pydantic import Field

from clouds.base.section import HostKey, Name, Section


class Gateway(Section):
    """A machine that ends the site's IPsec tunnels."""

    name: Name = Field(examples=["gw-0"])
    """Last part of its host name; the machine is called `<env>-<name>`."""
    public_address: IPv4Address = Field(examples=["198.51.100.20"])
    """Static public address at which the other sites' gateways reach it."""
    host_key: HostKey | None = None
    """The machine's SSH host key, which connections must match. Leave it out until the machine is prepared."""
