"""Groups of racks' machines: none, since no pool stands there."""

from __future__ import annotations

from clouds.base.groups import PoolGroup
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def of_pool(_place: Place[OnpremSite], _name: str, /) -> tuple[PoolGroup, ...]:
    """None, not even of a pool that is declared here by mistake."""
    return ()


def may_name(_place: Place[OnpremSite], _pool: str, _machine: str, /) -> bool:
    """No."""
    return False


def nobody(place: Place[OnpremSite], pool: str) -> str:
    """Any name will do."""
    return place.pool_resource(pool)


def word() -> str:
    """Where pools would be, in words."""
    return "rack"


def largest(_type: str, _machine_type: str, /) -> None:
    """There is no group."""
