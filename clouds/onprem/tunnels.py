"""Tunnels that end at a site of racks."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.base.place import Place
from clouds.base.tunnels import TunnelView
from clouds.onprem.site import OnpremSite


def ends(site: OnpremSite) -> tuple[str, ...]:
    """Every gateway."""
    return tuple(gateway.name for gateway in site.gateways)


def seen(_place: Place[OnpremSite], _links: Sequence[str], /) -> list[TunnelView]:
    """None: nobody tells of the racks' gateways but themselves; the other ends are told of by their clouds."""
    return []


def addresses(site: OnpremSite, /) -> int:
    """One for each gateway."""
    return len(site.gateways)
