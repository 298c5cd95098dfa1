"""Tunnels between sites as their gateways see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clouds.base.place import Place
from clouds.base.site import SiteBase


@dataclass(frozen=True, kw_only=True)
class TunnelView:
    """One end of a tunnel, or of a connection of several, as a cloud's gateway sees it."""

    link: str
    """The link it belongs to, `<site>-<site>`."""
    site: str
    """Whose gateway says so."""
    name: str
    up: bool
    since: str = ""
    """When it last came up, or changed, RFC 3339; empty when that is not known."""
    bytes_in: int | None = None
    """Bytes that came through it; None where the cloud does not count."""
    bytes_out: int | None = None
    reason: str = ""


def link_of(place: Place[SiteBase], resource: str, links: Iterable[str]) -> str | None:
    """The link that a connection was made for, by its name (`components/links.py`); None for somebody else's."""
    prefix = place.cloud_name(f"{place.environment}-links-")
    fitting = [link for link in links if resource.startswith(f"{prefix}{link}-")]
    return max(fitting, key=len, default=None)
