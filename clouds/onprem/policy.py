"""Looks at what is made for racks: none, since nothing of a rack is a resource."""

from __future__ import annotations

from clouds.base.place import Place
from clouds.base.policy import Check
from clouds.onprem.site import OnpremSite


def checks() -> tuple[Check, ...]:
    """No look."""
    return ()


def public(_place: Place[OnpremSite], /) -> frozenset[str]:
    """Nothing of the program's: what racks have at the internet is their own."""
    return frozenset()
