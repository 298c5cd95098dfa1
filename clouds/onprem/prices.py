"""Prices of racks: nobody publishes them, so they are the user's own."""

from __future__ import annotations

from clouds.base.prices import Asking, Batch, Key
from clouds.onprem.site import OnpremSite


def published(_source: str, _url: str, /) -> bool:
    """No: whoever has racks writes what they cost."""
    return False


def batches(_keys: tuple[Key, ...], _asking: Asking[OnpremSite], /) -> list[Batch]:
    """None."""
    return []
