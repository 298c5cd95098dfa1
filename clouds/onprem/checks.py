"""Checks of existing parts that a site names: none, because Longhaul makes nothing of an on-premises site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.base.fault import Fault
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def faults(_place: Place[OnpremSite], _earlier: Sequence[Place[OnpremSite]], /) -> Iterator[Fault]:
    """Yield nothing."""
    yield from ()


def network(_site: OnpremSite, /) -> tuple[str, str] | None:
    """Return None: such a site names no network."""
    return None
