"""Tunnels that end at a site's gateway in Nimbus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clouds.base.place import Place
from clouds.base.risks import Risk
from clouds.base.site import SiteBase
from clouds.base.tunnels import TunnelView, link_of
from nimbus.api import account
from nimbus.site import NimbusSite


def ends(_site: NimbusSite, /) -> tuple[str, ...]:
    """Return the ends of tunnels: the one gateway."""
    return ("0",)


def is_single(_site: NimbusSite, /) -> bool:
    """Return False: Nimbus uses the tunnels that are up."""
    return False


def seen(place: Place[NimbusSite], links: Sequence[str], /) -> list[TunnelView]:
    """Return the account's tunnels that belong to these links."""
    return [
        TunnelView(link=link, site=place.name, name=name, up=up, reason="" if up else "Nimbus says it is down")
        for name, up in account().get("tunnels", {}).items()
        if (link := link_of(place, name, links)) is not None
    ]


def addresses(_site: NimbusSite, /) -> int:
    """Return the number of addresses: the one gateway's."""
    return 1


def risks(_place: Place[NimbusSite], _others: Mapping[str, SiteBase], /) -> Iterator[Risk]:
    """Yield nothing: another tunnel takes over from one that is down."""
    yield from ()
