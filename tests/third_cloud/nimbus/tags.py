"""Tags that Nimbus accepts."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.base.place import Place
from clouds.base.tags import OWN, Most
from nimbus.site import NimbusSite

NAME, MOST = 30, 20


def fault(key: str, value: str, _places: Sequence[Place[NimbusSite]], /) -> tuple[str, str] | None:
    """Refuse names that are too long, and empty values."""
    if len(key) > NAME:
        return f"has {len(key)} characters, too many for Nimbus", f"a name of at most {NAME}"
    return None if value else ("has no value, which Nimbus does not take", "a value")


def limit(_places: Sequence[Place[NimbusSite]], /) -> Most | None:
    """Return the maximum number of tags of a resource: fewer than in other clouds."""
    return Most(count=MOST - OWN, whose="a resource of Nimbus")
