"""Tags that racks take: any, since nothing there has one."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.base.place import Place
from clouds.base.tags import Most
from clouds.onprem.site import OnpremSite


def fault(_key: str, _value: str, _places: Sequence[Place[OnpremSite]], /) -> tuple[str, str] | None:
    """None."""
    return None


def most(_places: Sequence[Place[OnpremSite]], /) -> Most | None:
    """No limit."""
    return None
