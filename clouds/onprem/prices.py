"""Prices of hosts: none is published, so the user writes them."""

from __future__ import annotations

from clouds.base.prices import Asking, Batch, Key
from clouds.onprem.site import OnpremSite


def published(_source: str, _url: str, /) -> bool:
    """Return false: the user writes what hosts cost."""
    return False


def batches(_keys: tuple[Key, ...], _asking: Asking[OnpremSite], /) -> list[Batch]:
    """Return an empty list."""
    return []
