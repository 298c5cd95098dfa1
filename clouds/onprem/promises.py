"""Limits of an on-premises site: none here, because its hosts are checked with the address plan."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.caution import Caution
from clouds.base.fitting import SiteRanges
from clouds.base.place import Place
from clouds.base.room import Room
from clouds.onprem.site import OnpremSite


def rooms(_site: OnpremSite, _ranges: SiteRanges, /) -> tuple[Room, ...]:
    """Return none, because there are no pools."""
    return ()


def peered(_sites: int, _pods_each: int, /) -> int | None:
    """Return None: nothing is peered."""
    return None


def cautions(_place: Place[OnpremSite], /) -> Iterator[Caution]:
    """Yield nothing."""
    yield from ()
