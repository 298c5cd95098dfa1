"""Parts of an on-premises site that Longhaul makes: none. All of it exists already, and the file names no parts."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.place import Place
from clouds.base.prices import Part
from clouds.onprem.site import OnpremSite


def hourly_parts(_place: Place[OnpremSite], _remote: int, /) -> Iterator[tuple[Part, int]]:
    """Yield nothing, because no cloud charges for the site's network."""
    return iter(())


def existing_parts(_site: OnpremSite, /) -> tuple[str, ...]:
    """Return an empty tuple."""
    return ()
