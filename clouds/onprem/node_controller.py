"""Access of the node controller to hosts: none needed, because its document lists them."""

from __future__ import annotations

from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def takes_role() -> bool:
    """Return false: no cloud is asked."""
    return False


def settings(_place: Place[OnpremSite], /) -> dict[str, str]:
    """Return an empty mapping."""
    return {}
