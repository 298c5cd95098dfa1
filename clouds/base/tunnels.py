"""Tunnels between sites as their gateways see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clouds.base.place import Place
from clouds.base.site import SiteBase


@dataclass(frozen=True, kw_only=True)
class TunnelView:
    """One end of a tunnel, or of a connection with several tunnels, as a cloud's gateway sees it."""

    link: str
    """Link that it belongs to, `<site>-<site>`."""
    site: str
    """Site of the gateway that reports it."""
    name: str
    up: bool
    since: str = ""
    """Time of its last start or change of state, in RFC 3339; empty when unknown."""
    bytes_in: int | None = None
    """Number of bytes received through it; None when the cloud does not count them."""
    bytes_out: int | None = None
    reason: str = ""


def link_of(place: Place[SiteBase], resource: str, links: Iterable[str]) -> str | None:
    """Return the link that a connection was made for, by the connection's name (`components/links.py`); None when it
    does not belong to these links."""
    prefix = place.cloud_name(f"{place.environment}-links-")
    fitting = [link for link in links if resource.startswith(f"{prefix}{link}-")]
    return max(fitting, key=len, default=None)
