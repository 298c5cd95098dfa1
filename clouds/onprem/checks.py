"""Parts of racks that are named instead of made: none, since nothing of them is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.base.fault import Fault
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def faults(_place: Place[OnpremSite], _earlier: Sequence[Place[OnpremSite]], /) -> Iterator[Fault]:
    """None."""
    yield from ()


def network(_site: OnpremSite, /) -> tuple[str, str] | None:
    """None that a file names."""
    return None
