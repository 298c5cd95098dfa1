"""Tunnels that end at an on-premises site."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.base.place import Place
from clouds.base.tunnels import TunnelView
from clouds.onprem.site import OnpremSite


def ends(site: OnpremSite) -> tuple[str, ...]:
    """Return the names of the gateways."""
    return tuple(gateway.name for gateway in site.gateways)


def is_single(_site: OnpremSite, /) -> bool:
    """Return False: strongSwan uses the tunnels that are up."""
    return False


def seen(_place: Place[OnpremSite], _links: Sequence[str], /) -> list[TunnelView]:
    """Return an empty list: no service reports the state of these gateways. The clouds report the other ends."""
    return []


def addresses(site: OnpremSite, /) -> int:
    """Return the number of gateways, which have one address each."""
    return len(site.gateways)
