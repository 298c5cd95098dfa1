"""Names that could become too long: none that depend on sites. Host names are checked when the hosts file is read."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.names import Main, Sized
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def main(_place: Place[OnpremSite], /) -> Iterator[Main]:
    """Yield nothing, because Longhaul makes no resources here."""
    yield from ()


def of_site(_place: Place[OnpremSite], /) -> Iterator[Sized]:
    """Yield nothing."""
    yield from ()


def of_pool(_place: Place[OnpremSite], _pool: str, /) -> Iterator[Sized]:
    """Yield nothing."""
    yield from ()


def of_link(_place: Place[OnpremSite], _link: str, _end: str, /) -> Iterator[Sized]:
    """Yield nothing: names of strongSwan's connections have no limit that matters."""
    yield from ()
