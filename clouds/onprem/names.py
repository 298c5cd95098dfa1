"""Names that racks limit: none that follow from sites; hosts' own are checked as they are written."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.names import Main, Sized
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def main(_place: Place[OnpremSite], /) -> Iterator[Main]:
    """None: nothing of a rack is made."""
    yield from ()


def of_site(_place: Place[OnpremSite], /) -> Iterator[Sized]:
    """None."""
    yield from ()


def of_pool(_place: Place[OnpremSite], _pool: str, /) -> Iterator[Sized]:
    """None."""
    yield from ()


def of_link(_place: Place[OnpremSite], _link: str, _end: str, /) -> Iterator[Sized]:
    """None: strongSwan's connections have no limit of note."""
    yield from ()
