"""Groups of machines: none, because pools are not possible on-premises."""

from __future__ import annotations

from clouds.base.groups import PoolGroup
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def of_pool(_place: Place[OnpremSite], _name: str, /) -> tuple[PoolGroup, ...]:
    """Return an empty tuple, even for a pool that the file puts here by mistake."""
    return ()


def may_name(_place: Place[OnpremSite], _pool: str, _machine: str, /) -> bool:
    """Return false."""
    return False


def unused_name(place: Place[OnpremSite], pool: str) -> str:
    """Return any name, because there are no pools."""
    return place.pool_resource(pool)


def word() -> str:
    """Return ``rack``, the word for the place of a pool."""
    return "rack"


def largest(_type: str, _machine_type: str, /) -> None:
    """Return None, because there is no group."""
