"""Parts of a site of racks that are made: none, since all of it is there already, and nothing of that is named."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.place import Place
from clouds.base.prices import Part
from clouds.onprem.site import OnpremSite


def charged(_place: Place[OnpremSite], _remote: int, /) -> Iterator[tuple[Part, int]]:
    """Nothing that a price list would have."""
    return iter(())


def there_already(_site: OnpremSite, /) -> tuple[str, ...]:
    """Nothing that a file names."""
    return ()
