"""Limits of a site in Nimbus, which tells neither its room nor its regions."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.caution import Caution
from clouds.base.fitting import SiteRanges
from clouds.base.place import Place
from clouds.base.room import Room
from nimbus.site import NimbusSite


def rooms(_site: NimbusSite, _ranges: SiteRanges, /) -> tuple[Room, ...]:
    """Return none: nothing is known."""
    return ()


def peered(_sites: int, _pods_each: int, /) -> int | None:
    """Return None: nothing is known."""
    return None


def cautions(_place: Place[NimbusSite], /) -> Iterator[Caution]:
    """Yield nothing."""
    yield from ()
