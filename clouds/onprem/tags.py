"""Limits of tags on-premises: none, because nothing there has tags."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.base.place import Place
from clouds.base.tags import Most
from clouds.onprem.site import OnpremSite


def fault(_key: str, _value: str, _places: Sequence[Place[OnpremSite]], /) -> tuple[str, str] | None:
    """Return None."""
    return None


def limit(_places: Sequence[Place[OnpremSite]], /) -> Most | None:
    """Return None: there is no limit."""
    return None
