"""Checks of resources against the rules: none, because the program makes no resources on-premises."""

from __future__ import annotations

from clouds.base.place import Place
from clouds.base.policy import Check
from clouds.onprem.site import OnpremSite


def checks() -> tuple[Check, ...]:
    """Return an empty tuple."""
    return ()


def public(_place: Place[OnpremSite], /) -> frozenset[str]:
    """Return an empty set: the site's public addresses are not the program's resources."""
    return frozenset()
