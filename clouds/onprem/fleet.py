"""Running groups of pools: none, because pools are not possible on-premises."""

from __future__ import annotations

from clouds.base.fleet import LiveGroup
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def of_pool(_place: Place[OnpremSite], _name: str, /) -> dict[str, LiveGroup]:
    """Return an empty mapping."""
    return {}
