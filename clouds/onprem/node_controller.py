"""Machines of racks to the node controller, which has a list of them."""

from __future__ import annotations

from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def takes_role() -> bool:
    """No: nobody is asked."""
    return False


def source(_place: Place[OnpremSite], /) -> dict[str, str]:
    """Nobody."""
    return {}
