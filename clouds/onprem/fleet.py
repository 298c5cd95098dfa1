"""Groups that stand in racks: none, since no pool stands there."""

from __future__ import annotations

from clouds.base.fleet import LiveGroup
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def of_pool(_place: Place[OnpremSite], _name: str, /) -> dict[str, LiveGroup]:
    """None."""
    return {}
