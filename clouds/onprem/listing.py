"""Resources of an environment that the cloud lists: none, because no service lists hosts."""

from __future__ import annotations

from clouds.base.listing import PublicAddress
from clouds.base.place import Place
from clouds.onprem.site import OnpremSite


def public_addresses(_place: Place[OnpremSite], /) -> tuple[PublicAddress, ...]:
    """Return an empty tuple: the gateways' addresses are in the file."""
    return ()


def remaining(_place: Place[OnpremSite], /) -> list[str]:
    """Return an empty list: hosts are not deleted."""
    return []
