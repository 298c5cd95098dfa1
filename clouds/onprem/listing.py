"""What racks list of an environment: nobody keeps such a list."""

from __future__ import annotations

from clouds.base.listing import PublicAddress
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def public_addresses(_place: Place[OnpremSite], /) -> tuple[PublicAddress, ...]:
    """None that is asked of anybody: the gateways' are in the file."""
    return ()


def left(_place: Place[OnpremSite], /) -> list[str]:
    """Nothing: hosts stay where they are."""
    return []
