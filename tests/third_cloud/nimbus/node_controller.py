"""Machines in Nimbus to the node controller, which asks by the project."""

from __future__ import annotations

from clouds.base.place import Place
from nimbus.site import NimbusSite


def takes_role() -> bool:
    """No: Nimbus believes the machine's own identity."""
    return False


def source(place: Place[NimbusSite], /) -> dict[str, str]:
    """Where it asks."""
    return {"region": place.site.region, "project": place.site.project}
