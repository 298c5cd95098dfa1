"""Data for the node controller about machines in Nimbus, which it finds by the project."""

from __future__ import annotations

from clouds.base.place import Place
from nimbus.site import NimbusSite


def takes_role() -> bool:
    """Return False: Nimbus accepts the machine's own identity."""
    return False


def settings(place: Place[NimbusSite], /) -> dict[str, str]:
    """Return the region and the project that it asks."""
    return {"region": place.site.region, "project": place.site.project}
